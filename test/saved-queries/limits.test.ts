import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askQueries, refusal, saved } from '../support/queries/queries-api.ts'
import { setup } from '../support/service/setup.ts'

test('the saved queries of a user have at most 4 MB together, however many are saved concurrently', async (t) => {
  const { user } = await setup(t)
  const body = { sql: `select 1 /* ${'é'.repeat(65_000)} */` }
  const save = async (name: string) => (await askQueries(user, `/${name}`, { method: 'PUT', body })).status
  const statuses: number[] = []
  for (const round of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
    statuses.push(...(await Promise.all([1, 2, 3, 4].map((index) => save(`${round}${index}`)))))
  assert.equal(statuses.filter((status) => status === 201).length, 32)
  assert.equal(statuses.filter((status) => status === 409).length, 4)
  const refused = await refusal(user, '/one-more', { method: 'PUT', body })
  assert.deepEqual([refused.status, refused.code], [409, 'too-many-queries'])
  assert.match(refused.text, /4 MB/)
})

test('a default nested too deep, or with more digits than are kept, is refused', async (t) => {
  const { user } = await setup(t)
  const put = (value: string, type: string) =>
    refusal(user, '/q', {
      method: 'PUT',
      body: `{"sql": "select :x", "params": {"x": {"type": "${type}", "default": ${value}}}}`,
      headers: { 'content-type': 'application/json' },
    })
  const deep = await put('['.repeat(200_000) + ']'.repeat(200_000), 'json')
  assert.deepEqual([deep.status, deep.code], [400, 'query-invalid'])
  for (const [value, type] of [
    ['9007199254740993', 'bigint'],
    ['[9007199254740993]', 'bigint[]'],
    ['0.12345678901234567', 'numeric'],
    ['{"a": [12345678901234567]}', 'json'],
  ] as const)
    assert.match((await put(value, type)).text, /too many digits/)
  const text = await askQueries(user, '/q', {
    method: 'PUT',
    body: { sql: 'select :x as x', params: { x: { type: 'bigint', default: '9007199254740993' } } },
  })
  assert.equal(text.status, 201)
})

test('an answer with an ETag varies by the key and the encoding', async (t) => {
  const { user } = await setup(t)
  await user.sql("create table t (a int); select cartodb.cdb_cartodbfytable('t')")
  await saved(user, 'q', { sql: 'select a from t' })
  const { headers } = await askQueries(user, '/q/rows')
  assert.ok(headers.get('etag'))
  assert.match(headers.get('vary') ?? '', /Authorization/)
  assert.match(headers.get('vary') ?? '', /Accept-Encoding/)
})
