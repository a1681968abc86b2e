import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ImportHouse, setupImports } from '../support/imports/import-api.ts'

const megabytes = (count: number, text: string) => text.repeat((count * 1_000_000) / text.length)

/** The slowest answer to another client meanwhile. */
async function slowestAnswer(house: ImportHouse, work: () => Promise<void>): Promise<number> {
  let slowest = 0
  let isOver = false
  const others = async () => {
    while (!isOver) {
      const since = performance.now()
      await (await fetch(new URL('/health', house.user.base))).text()
      slowest = Math.max(slowest, performance.now() - since)
      await sleep(5)
    }
  }
  const asking = others()
  await work().finally(() => {
    isOver = true
  })
  await asking
  return slowest
}

test('other clients are answered while a CSV file with a value of many megabytes is read', async (t) => {
  const house = await setupImports(t)
  const values = { text: 'x', quoted: '"', digits: '1', json: '[' }
  for (const [name, character] of Object.entries(values)) {
    const value = character === '"' ? `"${megabytes(8, '""')}"` : megabytes(8, character)
    const slowest = await slowestAnswer(house, async () => {
      const done = await house.load(`${name}.csv`, `a,b\n1,${value}\n`)
      assert.equal(done.state, 'complete', JSON.stringify(done.get_error_text))
    })
    assert.ok(slowest < 1_000, `${name}: ${slowest} ms`)
    const { rows } = await house.user.sql(`select length(b) as length from ${name}`)
    assert.deepEqual(rows, [{ length: character === '"' ? 4_000_000 : 8_000_000 }], name)
  }
})

test('a CSV file with a first line that is too long or has too many values is refused at once', async (t) => {
  const house = await setupImports(t)
  const slowest = await slowestAnswer(house, async () => {
    const wide = await house.load('wide.csv', `${'c,'.repeat(10_000)}c\n`)
    assert.equal(wide.error_code, 2004)
    const long = await house.load('long.csv', megabytes(8, 'x'))
    assert.deepEqual(
      [long.error_code, long.get_error_text?.what_about],
      [2003, 'Line 1: This line is too long.'],
    )
    const values = await house.load('values.csv', `a,b\n${megabytes(4, ',')}\n`)
    assert.equal(values.error_code, 2003)
    assert.match(values.get_error_text!.what_about, /^Line 2: /)
  })
  assert.ok(slowest < 1_000, `${slowest} ms`)
  await house.nothingLeft()
})

test('a large geometry written as text in a CSV file is imported as a geometry', async (t) => {
  const { load, user } = await setupImports(t)
  const points = Array.from({ length: 200_000 }, (_, at) => `${at / 10_000} 0`)
  const done = await load('line.csv', `id,wkt\n1,"LINESTRING(${points.join(',')})"\n`)
  assert.equal(done.get_error_text, null)
  const { rows } = await user.sql('select st_npoints(the_geom) as points from line')
  assert.deepEqual(rows, [{ points: 200_000 }])
})

test('an integer of GeoJSON that does not fit 64 bits is refused, not changed', async (t) => {
  const { load } = await setupImports(t)
  const feature = '{"type":"Feature","geometry":null,"properties":{"n":123456789012345678901234567890}}'
  const done = await load('n.geojson', `{"type":"FeatureCollection","features":[${feature}]}`)
  assert.deepEqual([done.state, done.error_code], ['failure', 2001])
  assert.match(done.get_error_text!.what_about, /64bit/)
})
