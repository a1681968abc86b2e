import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../support/http/ask.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { setup } from '../support/service/setup.ts'

type Totals = Readonly<{ total?: number; total_kind?: string }>

test('a page has the number of rows on all pages, exactly or as the planner estimates', async (t) => {
  const house = await setup(t)
  const { user } = house
  await ask(user, `create table t as select n, repeat('x', 10) as s from generate_series(1, 1234) n`)
  await user.sql('analyze t')
  const page = { rows_per_page: '10', page: '3', order_by: 'n' }
  for (const total of ['exact', 'estimate', 'EXACT']) {
    const { status, headers, body } = await ask(user, 'select * from t -- all', { ...page, total })
    assert.equal(status, 200)
    assert.deepEqual([body.rows.length, body.rows[0]!.n, body.total_rows], [10, 31, 10])
    const { total: counted, total_kind: kind } = body as Totals
    assert.deepEqual([counted, kind, headers.get('x-total-rows')], [1234, total.toLowerCase(), '1234'])
  }
  const csv = await ask(user, 'select * from t where n > $1', {
    ...page,
    total: 'exact',
    format: 'csv',
    params: '[1000]',
  })
  assert.equal(csv.headers.get('x-total-rows'), '234')
  assert.equal(csv.text.trim().split('\n').length, 11)
  const plain = await ask(user, 'select * from t', page)
  assert.equal('total' in plain.body, false)
  const answer = await clientOf(t, house).sql('select * from t', { rows_per_page: 1, total: 'exact' })
  assert.deepEqual([answer.total, answer.rows.length], [1234, 1])
})

test('total without a single paged SELECT is refused, and errors keep their position in the sent text', async (t) => {
  const { user } = await setup(t)
  const alone = await ask(user, 'select 1', { total: 'exact' })
  assert.deepEqual([alone.status, alone.body.code], [400, 'bad-request'])
  const unknown = await ask(user, 'select 1', { rows_per_page: '1', total: 'about' })
  assert.equal(unknown.status, 400)
  const writing = await ask(user, 'create table made (n int)', { rows_per_page: '1', total: 'exact' })
  assert.deepEqual([writing.status, writing.body.error], [400, ['total needs a single SELECT']])
  await assert.rejects(user.sql('select * from made'), /does not exist/)
  for (const total of ['exact', 'estimate']) {
    const wrong = await ask(user, 'select nowhere', { rows_per_page: '1', total })
    assert.deepEqual([wrong.status, wrong.body.position], [400, 8], total)
  }
})

test('a count runs as a statement of the key, with the same rights', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table secret (n int)')
  const denied = await ask(user, 'select * from secret', {
    rows_per_page: '1',
    total: 'estimate',
    api_key: '',
  })
  assert.equal(denied.status, 403)
})
