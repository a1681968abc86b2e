import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FullJobDocument } from '../../src/contract/documents.ts'
import { fullJobApi } from '../support/jobs/full-job-api.ts'
import { itemsOf } from '../support/jobs/job-api.ts'
import { setup } from '../support/service/setup.ts'

test("a job reports the rows of each item's command tag, and of its single statement", async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  const chain = await api.run({
    query: [
      'create table seen (a int)',
      'insert into seen select generate_series(1, 7)',
      'update seen set a = 0 where a > 5; select 1 where false',
      'create table kept as select * from seen',
      'vacuum seen',
    ],
  })
  assert.equal(chain.status, 'done', JSON.stringify(chain))
  assert.deepEqual(
    itemsOf(chain).map(({ rows }) => rows),
    [undefined, 7, 0, 7, undefined],
  )
  const single = await api.run({ query: 'delete from seen where a = 0' })
  assert.deepEqual([single.rows, single.attempts], [2, 1])
  const failed = await api.run({ query: 'select 1/0' })
  assert.equal('rows' in failed, false)
})

test('params of a statement or item are bound, as on the SQL endpoint, and never become SQL text', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql(
    `create type mood as enum ('sad', 'glad');
     create table bound (a text, b numeric, c boolean, d jsonb, e int[], f mood[])`,
  )
  const hostile = `'); drop table bound; --`
  const values = [hostile, null, true, { deep: ['x', 1] }, [1, null, 3], ['sad', 'glad']]
  const insert = 'insert into bound values ($1, $2, $3, $4, $5, $6)'
  const single = await api.run({ query: insert, params: values })
  assert.equal(single.status, 'done', JSON.stringify(single))
  assert.deepEqual([single.params, single.rows], [values, 1])
  const chain = await api.run({
    query: [
      { query: insert, params: values },
      'select 1',
      { query: 'update bound set b = $1', params: [1.5] },
    ],
  })
  assert.equal(chain.status, 'done', JSON.stringify(chain))
  assert.deepEqual(itemsOf(chain)[0]!.params, values)
  const { rows } = await user.sql('select a, b::text, c, d, e, f::text from bound')
  const row = { a: hostile, b: '1.5', c: true, d: { deep: ['x', 1] }, e: [1, null, 3], f: '{sad,glad}' }
  assert.deepEqual(rows, [row, row])
})

test('numbers in params keep all their digits', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql('create table digits (n numeric)')
  const long = '12345678901234567890.123456789'
  const single = await api.run(`{"query": "insert into digits values ($1)", "params": [${long}]}`)
  const chain = await api.run(
    `{"query": {"query": ["select 1", {"query": "insert into digits values ($1)", "params": [ ${long} ]}], "onerror": "select 2"}}`,
  )
  assert.deepEqual([single.status, chain.status], ['done', 'done'])
  assert.deepEqual(single.params, [long])
  const inside = await api.run(
    `{"query": "select $1::numeric[], $2::float8", "params": [[${long}, 1], 1e-400]}`,
  )
  assert.deepEqual([inside.status, inside.params], ['failed', [[long, 1], '1e-400']])
  const { rows } = await user.sql('select n::text from digits')
  assert.deepEqual(rows, [{ n: long }, { n: long }])
  const form = await api.call<FullJobDocument>(
    'POST',
    api.path(),
    `query=${encodeURIComponent('delete from digits where n = $1')}&params=${encodeURIComponent(`[${long}]`)}`,
    { 'content-type': 'application/x-www-form-urlencoded' },
  )
  assert.equal((await api.ended(form.body.job_id)).rows, 2)
})

test('params that do not fit fail the job with the reason, and nothing is applied', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql('create table fits (n int)')
  const failures: [string, unknown[], RegExp][] = [
    ['insert into fits values ($1)', [], /\$1 has no value/],
    ['insert into fits values ($1)', [1, 2], /\$2 is not in the statement/],
    ['insert into fits values ($1)', ['x'], /invalid input syntax/],
    ['insert into fits values (1); insert into fits values ($1)', [1], /multiple commands/],
  ]
  for (const [query, params, reason] of failures) {
    const job = await api.run({ query, params })
    assert.equal(job.status, 'failed', query)
    assert.match(job.failed_reason!, reason)
  }
  assert.deepEqual((await user.sql('select * from fits')).rows, [])
})

test('wrong params, not_before and retry are refused by name', async (t) => {
  const { user } = await setup(t)
  const api = fullJobApi(user)
  const refusals: [object, RegExp][] = [
    [{ query: ['select 1'], params: [1] }, /params/],
    [{ query: 'select $1', params: { a: 1 } }, /params/],
    [{ query: [{ query: 'select $1', params: 1 }] }, /query\[0\]\.params/],
    [{ query: 'select 1', not_before: 'tomorrow' }, /not_before/],
    [{ query: 'select 1', not_before: '2026-01-31T10:00:00' }, /not_before/],
    [{ query: 'select 1', not_before: '2026-02-31T10:00:00Z' }, /not_before/],
    [{ query: 'select 1', not_before: '0000-01-01T00:00:00Z' }, /not_before/],
    [{ query: 'select 1', not_before: '0001-01-01T00:00:00+05:00' }, /not_before/],
    [{ query: 'select 1', not_before: '9999-12-31T23:59:59-01:00' }, /not_before/],
    [{ query: 'select 1', retry: 3 }, /retry/],
    [{ query: 'select 1', retry: { attempts: 11 } }, /attempts/],
    [{ query: 'select 1', retry: { attempts: 2, backoff_s: -1 } }, /backoff_s/],
    [{ query: 'select 1', retry: { attempts: 2, pause: 1 } }, /pause/],
  ]
  for (const [body, reason] of refusals) assert.match(await api.refusal(body), reason)
  const { status } = await api.call('POST', `${user.base}/api/v2/sql/job`, {
    query: 'select $1',
    params: [1],
  })
  assert.equal(status, 400)
})

test('a job document can be read and posted again, params and rows included', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  const first = await api.run({ query: [{ query: 'select $1::int', params: [4] }], retry: { attempts: 2 } })
  const second = await api.run(first)
  assert.deepEqual([second.status, itemsOf(second)[0]!.params], ['done', [4]])
})
