import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { dropWhenSilent, socketOf } from '../../src/postgres/wire/drop-when-silent.ts'
import { setup } from '../support/service/setup.ts'

test("a query sent just when a connection's idle time ends still has its full time", async (t) => {
  const { client, ask } = await watched(t, 60_000)
  socketOf(client).emit('timeout')
  await ask('select pg_sleep(0.2)')
})

test('a query sent between the end of an idle time and its event still has its full time', async (t) => {
  const first = await watched(t, 1_000)
  const second = await watched(t, 1_000)
  await Promise.all([first.ask('select 1'), second.ask('select 1')])
  // Both timers fire in one turn of the event loop, with the first one's callbacks between them.
  const asked = once(socketOf(first.client), 'timeout').then(() => second.ask('select pg_sleep(0.3)'))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000)
  await asked
})

test('a connection that was idle for long and then does not answer is dropped', async (t) => {
  const { client, ask } = await watched(t, 600)
  await once(socketOf(client), 'timeout')
  const asked = performance.now()
  await assert.rejects(ask('select pg_sleep(20)'), { code: 'ETIMEDOUT' })
  const waited = performance.now() - asked
  assert.ok(waited > 500 && waited < 10_000, `after ${waited} ms`)
})

/** A connection with such a limit, and a way to query it. */
async function watched(t: TestContext, limitMs: number) {
  const { keys } = await setup(t)
  const client = new pg.Client({ connectionString: keys.adminUrl })
  client.on('error', () => undefined)
  await client.connect()
  t.after(() => client.end().catch(() => undefined))
  let isAsking = false
  dropWhenSilent(client, limitMs, () => isAsking)
  const ask = async (text: string) => {
    isAsking = true
    await client.query(text)
    isAsking = false
  }
  return { client, ask }
}
