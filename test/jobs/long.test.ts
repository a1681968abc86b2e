import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FullJobDocument, JobDocument } from '../../src/contract/documents.ts'
import { cartage, connection } from '../support/http/call.ts'
import { itemsOf, jobApi } from '../support/jobs/job-api.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

const longPath = (user: TestUser) => `${user.base}/api/v4/jobs`

/** A body that is this many characters long as JSON. */
const bodyOf = (characters: number, sql = 'select 1') => ({
  query: sql.padEnd(characters - '{"query":""}'.length),
})

test('/api/v4/jobs accepts a job of 1048576 characters and refuses a longer one with the size', async (t) => {
  const { user, url } = await setup(t)
  const api = jobApi(user)
  const made = await api.call<JobDocument>('POST', longPath(user), bodyOf(1_048_576))
  assert.equal(made.status, 201)
  const location = new URL(made.headers.get('location')!, url).href
  assert.equal(location, `${longPath(user)}/${made.body.job_id}`)
  const { status, body } = await api.call('POST', longPath(user), bodyOf(1_048_577))
  assert.equal(status, 400)
  assert.deepEqual(body.error, [
    'The query is too large: 1048577 characters. The maximum allowed size is 1048576 (1 MB).',
  ])
  const huge = await api.call('POST', longPath(user), bodyOf(5 * 1024 ** 2))
  assert.equal(huge.status, 413)
})

test('a job has one document, read, changed and cancelled at both addresses', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const { body: long } = await api.call<JobDocument>('POST', longPath(user), bodyOf(20_000))
  const short = await api.submit('select 1')
  for (const job of [long, short]) {
    const [classic, ours] = [`${api.path()}/${job.job_id}`, `${longPath(user)}/${job.job_id}`]
    assert.deepEqual((await api.call('GET', classic)).body, job)
    const { position, ...document } = (await api.call<FullJobDocument>('GET', ours)).body
    assert.deepEqual([document, typeof position], [job, 'object'])
    const changed = await api.call<JobDocument>('PUT', ours, bodyOf(30_000, 'select 2'))
    assert.equal(changed.status, 200)
    assert.equal((await api.call('PUT', classic, bodyOf(30_000))).status, 400)
    assert.deepEqual((await api.call('GET', classic)).body, changed.body)
    const cancelled = await api.call<JobDocument>('DELETE', ours)
    assert.equal(cancelled.body.status, 'cancelled')
    assert.deepEqual((await api.call('GET', classic)).body, cancelled.body)
  }
})

test('a long job passes the same checks as a short one: key, members, idempotency, other accounts', async (t) => {
  const { user, createUser } = await setup(t)
  const other = await createUser()
  const api = jobApi(user)
  const stranger = await fetch(longPath(user), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"select 1"}',
  })
  assert.equal(stranger.status, 403)
  const mistyped = await api.call('POST', longPath(user), { query: 'select 1', onfailure: 'x' })
  assert.deepEqual(
    [mistyped.status, mistyped.body.error],
    [400, ['The body has an unknown member: onfailure']],
  )
  const many = await api.call('POST', longPath(user), {
    query: Array.from({ length: 10_001 }, () => 'select 1'),
  })
  assert.deepEqual(many.body.error, ['query has 10001 statements. A job has at most 10000'])
  const fallback = await api.call('POST', longPath(user), {
    query: ['select 1'],
    onerror: 'x'.repeat(16_385),
  })
  assert.deepEqual(fallback.body.error, ['onerror has 16385 characters. A fallback has at most 16384'])
  const once = { 'idempotency-key': 'only-once' }
  const first = await api.call<JobDocument>('POST', longPath(user), bodyOf(50_000), once)
  const again = await api.call<JobDocument>('POST', longPath(user), bodyOf(50_000), once)
  assert.deepEqual(again.body, first.body)
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.equal((await api.call('POST', longPath(user), bodyOf(50_001), once)).status, 422)
  const elsewhere = await jobApi(other).call('GET', `${longPath(other)}/${first.body.job_id}`)
  assert.equal(elsewhere.status, 404)
})

test('long statements run in a transaction, outside one, and with more tokens than the parser accepts', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = jobApi(user)
  const values = Array.from({ length: 60_000 }, (_, n) => `(${n})`).join(',')
  const vacuum = `vacuum t /* ${'long '.repeat(60_000)} */`
  const query = [
    'create table t (n int)',
    `insert into t values ${values}`,
    vacuum,
    'select 1/0',
    'drop table t',
  ]
  const { body } = await api.call<JobDocument>('POST', longPath(user), { query })
  const ended = await api.ended(body.job_id)
  assert.equal(ended.status, 'failed')
  assert.deepEqual(
    itemsOf(ended).map(({ status }) => status),
    ['done', 'done', 'done', 'failed', 'pending'],
  )
  assert.deepEqual((await user.sql('select count(*)::int as n from t')).rows, [{ n: 60_000 }])
})

test('the client and `cartage job run` send a file of more than 16 KB', async (t) => {
  const house = await setup(t, { worker: true })
  const client = clientOf(t, house)
  const inserts = Array.from({ length: 300 }, (_, n) => `insert into big values (${n}, '${'x'.repeat(60)}');`)
  const file = join(await mkdtemp(join(tmpdir(), 'long-')), 'big.sql')
  await writeFile(file, ['create table big (n int, t text);', ...inserts].join('\n'))
  const ran = await cartage(connection(house), 'job', 'run', '-f', file)
  assert.equal(ran.code, 0, ran.err)
  assert.deepEqual((await house.user.sql('select count(*)::int as n from big')).rows, [{ n: 300 }])
  const job = await client.jobs.run(`create table made as select '${'y'.repeat(200_000)}' as t`)
  assert.equal(job.status, 'done')
  const pending = await client.jobs.create('select pg_sleep(60)')
  await client.jobs.cancel(pending.job_id)
})
