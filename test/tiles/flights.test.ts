import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Flights } from '../../src/tiles/shared-work.ts'

test('a tile that is requested continuously does not keep earlier results in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const flights = new Flights<object>()
  const { signal } = new AbortController()
  const made: WeakRef<object>[] = []
  const ask = () =>
    flights.join('tile', null, signal, async (_, onBegin) => {
      onBegin()
      await turn()
      await turn()
      const tile = { bytes: Buffer.alloc(1_000) }
      made.push(new WeakRef(tile))
      return tile
    })
  // The next request always comes before the last one ends.
  let last = ask()
  for (let count = 0; count < 20; count += 1) {
    const next = ask()
    await last
    last = next
    await turn()
  }
  const next = ask()
  collect()
  assert.ok(made.length >= 10, `${made.length}`)
  assert.equal(made[0]!.deref(), undefined)
  await Promise.all([last, next])
})
