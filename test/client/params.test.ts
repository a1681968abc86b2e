import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExactNumber, statement } from '../../src/client/client.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { setup } from '../support/service/setup.ts'

test('values in a template are bind parameters, whatever they are', async (t) => {
  const client = clientOf(t, await setup(t))
  const name = "Robert'); drop table t; --"
  const { rows } = await client.sql<Record<string, unknown>>`
    select ${name} as name, ${9007199254740993n}::bigint as id, ${new ExactNumber('1.50')}::numeric as price,
      ${new Date(0)}::timestamptz as at, ${null}::int is null as is_null, ${Number.NaN}::float8 as nan,
      encode(${new Uint8Array([0, 255])}::bytea, 'hex') as bytes, 2 = any(${[1, 2]}) as is_in, ${{ a: [1] }}::jsonb as doc`
  const { price, ...others } = rows[0]!
  assert.equal(String(price), '1.50')
  assert.deepEqual(others, {
    name,
    id: 9007199254740993n,
    at: '1970-01-01T00:00:00Z',
    is_null: true,
    nan: 'NaN',
    bytes: '00ff',
    is_in: true,
    doc: { a: [1] },
  })
})

test('a statement with values works with options, as rows and as a download', async (t) => {
  const client = clientOf(t, await setup(t))
  const upTo = (n: number) => statement`select generate_series(1, ${n}) as n`
  assert.deepEqual((await client.sql(upTo(5), { rows_per_page: 1, page: 4 })).rows, [{ n: 5 }])
  const rows: unknown[] = []
  for await (const { n } of client.rows`select ${1}::int as n union all select ${2}::int`) rows.push(n)
  assert.deepEqual(rows, [1, 2])
  const chunks: Uint8Array[] = []
  for await (const chunk of await client.download(upTo(2), { format: 'csv' })) chunks.push(chunk)
  assert.equal(Buffer.concat(chunks).toString(), 'n\r\n1\r\n2\r\n')
  assert.deepEqual((await client.sql('select $1::int as n', { params: [7] })).rows, [{ n: 7 }])
})

test('a parameter is kept apart from a word next to it', () => {
  assert.equal(statement`select ${1}2, x${3}y`.text, 'select $1 2, x $2 y')
})

test('a value that is undefined is an error before anything is sent', async (t) => {
  const client = clientOf(t, await setup(t))
  const missing = undefined as unknown as null
  await assert.rejects(async () => client.sql`select ${1}, ${missing}`, /The parameter \$2 is undefined/)
})
