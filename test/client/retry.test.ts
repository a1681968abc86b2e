import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { CartageError } from '../../src/client/client.ts'
import { type Answer, startFront } from '../support/http/http-front.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { setup } from '../support/service/setup.ts'

test('a refusal for lack of capacity is retried after the time it names', async (t) => {
  const { client, front } = await behindFront(t)
  const begun = performance.now()
  front.next(refusal(429, 'rate-limited'), refusal(503, 'connections-exhausted'))
  assert.deepEqual((await client.sql('select 1 as n')).rows, [{ n: 1 }])
  assert.equal(front.seen.length, 3)
  assert.ok(performance.now() - begun >= 1_990)
})

test('a request that may have run is not repeated', async (t) => {
  const { client, front } = await behindFront(t)
  await client.sql('create table t (n int)')
  front.next('lose-answer')
  await assert.rejects(client.sql('insert into t values (1)'), { code: 'service-unreachable', status: 0 })
  front.next(refusal(503, 'database-unavailable'))
  await assert.rejects(client.sql('insert into t values (1)'), { code: 'database-unavailable', status: 503 })
  front.next('lose-answer')
  const copied = 'copy (insert into t values (2) returning n) to stdout'
  await assert.rejects(client.copyTo(copied), { code: 'service-unreachable', status: 0 })
  assert.deepEqual((await client.sql('select count(*) as n from t')).rows, [{ n: 2 }])
})

test('a statement marked as repeatable is repeated', async (t) => {
  const { client, front } = await behindFront(t)
  front.next('lose-request', 'lose-answer', refusal(503, 'database-unavailable'))
  const { rows } = await client.sql('select 1 as n', { isRepeatable: true })
  assert.deepEqual(rows, [{ n: 1 }])
  assert.equal(front.seen.length, 4)
})

test('a job whose answer was lost is requested again and is one job', async (t) => {
  const { client, front, bundle } = await behindFront(t)
  front.next('lose-answer', 'lose-request')
  const { job_id } = await client.jobs.create('select 1')
  front.next('lose-answer')
  assert.equal((await client.jobs.read(job_id)).status, 'pending')
  const { admin, service, user } = bundle
  const { rows } = await admin(
    'select id from cartage.jobs where user_id = $1',
    [user.account.userId],
    service.services.config.namespace,
  )
  assert.deepEqual(rows, [{ id: job_id }])
  assert.equal(front.seen.filter((line) => line.startsWith('POST')).length, 3)
  assert.equal((await client.jobs.cancel(job_id)).status, 'cancelled')
})

test('retries end: after a number of attempts, before a long wait, and when switched off', async (t) => {
  const { client, front, bundle } = await behindFront(t)
  front.next(...Array.from({ length: 4 }, () => 'lose-request' as const))
  await assert.rejects(client.me(), { code: 'service-unreachable' })
  assert.equal(front.seen.length, 4)
  front.next(refusal(429, 'rate-limited', 3600))
  await assert.rejects(client.me(), { code: 'rate-limited', retryAfterSeconds: 3600 })
  assert.equal(front.seen.length, 5)
  front.next('lose-request')
  await assert.rejects(clientOf(t, { ...bundle, url: front.url }, { retries: 0 }).me(), { status: 0 })
  assert.equal(front.seen.length, 6)
})

test('a wait ends when the caller aborts', async (t) => {
  const { client, front } = await behindFront(t)
  front.next(refusal(503, 'shutting-down', 20))
  const stop = AbortSignal.timeout(300)
  await assert.rejects(client.sql('select 1', { signal: stop }), { name: 'TimeoutError' })
  assert.equal(front.seen.length, 1)
})

test('a refused connection is always retried', async (t) => {
  const bundle = await setup(t)
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  const client = clientOf(t, { ...bundle, url: `http://127.0.0.1:${port}` })
  const begun = performance.now()
  await assert.rejects(client.sql('select 1'), (error: unknown) => {
    assert.ok(error instanceof CartageError)
    assert.equal(error.message, `No service answers at http://127.0.0.1:${port}`)
    assert.equal((error.cause as NodeJS.ErrnoException).code, 'ECONNREFUSED')
    return true
  })
  assert.ok(performance.now() - begun > 900)
})

async function behindFront(t: TestContext) {
  const bundle = await setup(t)
  const front = await startFront(t, bundle.url)
  return { bundle, front, client: clientOf(t, { ...bundle, url: front.url }) }
}

const refusal = (status: number, code: string, retryAfter = 1): Answer => ({
  status,
  headers: { 'content-type': 'application/json', 'retry-after': String(retryAfter) },
  body: JSON.stringify({ error: ['no'], code }),
})
