import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setup, type TestUser } from '../../support/service/setup.ts'

const ask = (user: TestUser, format: string, q: string) =>
  fetch(`${user.base}/api/v2/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
    body: JSON.stringify({ q, format, api_key: user.masterToken }),
    signal: AbortSignal.timeout(60_000),
  })

/** 24 MB: more than a connection holds for a client that does not read. */
const large = `select n, repeat('x', 2000) as text, st_setsrid(st_makepoint(n % 180, 0), 4326) as the_geom
  from generate_series(1, 12000) as n`
const small = `select 1 as n, st_setsrid(st_makepoint(1, 2), 4326) as the_geom`

async function getsFile(user: TestUser, format: string) {
  const answer = await ask(user, format, small)
  assert.equal(answer.status, 200)
  assert.ok((await answer.arrayBuffer()).byteLength > 0)
}

/** A client that has its answer and does not read it. */
async function unread(user: TestUser, format: string) {
  const answer = await ask(user, format, large)
  assert.equal(answer.status, 200)
  return answer.body!.getReader()
}

test('a file that a client still reads counts against the disk: the next one of the account waits', async (t) => {
  const { user, createUser } = await setup(t, { config: { exportDiskBytes: 0 } })
  const [second, third] = [await createUser(), await createUser()]
  const [reader, ofSecond] = [await unread(user, 'gpkg'), await unread(second, 'gpkg')]
  const ended: string[] = []
  const waiting = Object.entries({ first: user, third }).map(async ([name, each]) => {
    await getsFile(each, 'gpkg')
    ended.push(name)
  })
  // Other formats are answered meanwhile.
  assert.equal((await ask(user, 'csv', 'select pg_sleep(2)')).status, 200)
  assert.deepEqual(ended, [])
  await ofSecond.cancel()
  await waiting[1]
  assert.deepEqual(ended, ['third'])
  await reader.cancel()
  await waiting[0]
})

test('slow clients do not keep others from their files while the disk has room', async (t) => {
  const { user, createUser } = await setup(t, { config: { exportDiskBytes: 200 * 1024 ** 2 } })
  const second = await createUser()
  const slow = [await unread(user, 'gpkg'), await unread(user, 'gpkg'), await unread(second, 'gpkg')]
  for (const each of [user, second, await createUser()]) await getsFile(each, 'gpkg')
  for (const reader of slow) {
    let bytes = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      bytes += value.byteLength
    }
    assert.ok(bytes > 24_000_000)
  }
})

for (const format of ['gpkg', 'topojson']) {
  test(`a client that never ends reading format=${format} is disconnected after the time of an answer`, async (t) => {
    const limits = { queryTimeoutMs: 15_000, copyTimeoutMs: 15_000, exportDiskBytes: 0 }
    const { user } = await setup(t, { config: limits })
    const reader = await unread(user, format)
    const next = getsFile(user, format)
    await assert.rejects(async () => {
      for (;;) {
        assert.equal((await reader.read()).done, false)
        await sleep(100)
      }
    }, /terminated/)
    await next
  })

  test(`a client that stops reading format=${format} is disconnected, and gives its turn to the next`, async (t) => {
    const { user } = await setup(t, { config: { copyIdleMs: 8_000, exportDiskBytes: 0 } })
    const reader = await unread(user, format)
    await getsFile(user, format)
    await reader.cancel().catch(() => undefined)
  })

  test(`a client that leaves while it reads format=${format} gives its turn to the next at once`, async (t) => {
    const { user } = await setup(t, { config: { exportDiskBytes: 0 } })
    const reader = await unread(user, format)
    const next = getsFile(user, format)
    await reader.cancel()
    await next
  })
}
