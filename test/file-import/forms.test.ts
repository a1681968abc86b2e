import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RejectedRow } from '../../src/contract/documents.ts'
import type { CsvDialect } from '../../src/file-import/csv-head.ts'
import { openImport } from '../../src/file-import/import-file.ts'
import { importStatements } from '../../src/file-import/import-plan.ts'
import { type ImportWishes, planImport } from '../../src/file-import/plan-import.ts'
import { readTypes } from '../../src/file-import/read-types.ts'
import { rewriteRows } from '../../src/file-import/rewrite-rows.ts'
import { copyUrl, send } from '../support/postgres/copying.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

test('numbers and dates are stored by their meaning, however they are written', async (t) => {
  const { user } = await setup(t)
  const csv = `price;count;opened;seen;note
1.234,50;1.234;31/12/2026;31.12.2026 23:05;"a;""b"""
-2,5;12.000.000;01/02/2026;1.2.2026 9:00;
;;;;x
`
  const { types, rows } = await load(user, csv, {})
  assert.deepEqual(types, ['double precision', 'bigint', 'date', 'timestamp', 'text'])
  assert.deepEqual(rows, [
    { price: '1234.5', count: '1234', opened: '2026-12-31', seen: '2026-12-31 23:05:00', note: 'a;"b"' },
    { price: '-2.5', count: '12000000', opened: '2026-02-01', seen: '2026-02-01 09:00:00', note: null },
    { price: null, count: null, opened: null, seen: null, note: 'x' },
  ])
})

test('one column shows the format of another; if none does, a person may choose it, or it stays text', async (t) => {
  const { user } = await setup(t)
  const told = await load(user, 'a;b;n;f\n03/04/2026;25/12/2026;1,234;0.5\n', {})
  assert.deepEqual(told.types, ['date', 'date', 'bigint', 'double precision'])
  assert.deepEqual(told.rows, [{ a: '2026-04-03', b: '2026-12-25', n: '1234', f: '0.5' }])
  const open = 'a;n\n03/04/2026;1,234\n12/11/2026 1:30 PM;7\n'
  assert.deepEqual((await load(user, open, {})).types, ['text', 'text'])
  const us = await load(user, open, { dates: 'mdy', decimals: 'point' })
  assert.deepEqual(us.types, ['timestamp', 'bigint'])
  assert.deepEqual(us.rows, [
    { a: '2026-03-04 00:00:00', n: '1234' },
    { a: '2026-12-11 13:30:00', n: '7' },
  ])
  const german = await load(user, open, { dates: 'dmy', decimals: 'comma' })
  assert.deepEqual(german.rows[0], { a: '2026-04-03 00:00:00', n: '1.234' })
  // Two columns that contradict each other decide nothing.
  const both = await load(user, 'a;b;c\n25/12/2026;12/25/2026;01/02/2026\n', {})
  assert.deepEqual(both.types, ['date', 'date', 'text'])
})

test('a value chosen as NULL is NULL, quoted too, and does not affect the type', async (t) => {
  const { user } = await setup(t)
  const csv = 'n,t\nn/a,"n/a"\n7,-\n"n/a",x\n'
  const before = await load(user, csv, {})
  assert.deepEqual(before.types, ['text', 'text'])
  assert.deepEqual(before.spoilt, [{ value: 'n/a', line: 2, nulls: ['n/a'] }, undefined])
  const after = await load(user, csv, {}, { nulls: ['n/a'] })
  assert.deepEqual(after.types, ['bigint', 'text'])
  assert.deepEqual(after.rows, [
    { n: null, t: null },
    { n: '7', t: '-' },
    { n: null, t: 'x' },
  ])
})

test('the reason of a type shows its value in the encoding of the file', async () => {
  const bytes = Buffer.from('ort,n\nKöln,1\nBonn,größer\n', 'latin1')
  const file = await openImport({ name: 'a.csv', read: () => chunksOf(bytes) })
  const { inference } = await readTypes(file)
  assert.equal(
    inference.columns[1]!.reason,
    '“größer” in line 3 is not a whole number, as the values before it',
  )
})

test('an open quotation mark is reported by the line where it starts, and rejects no later row', async (t) => {
  const { user } = await setup(t)
  const good = Array.from({ length: 40_000 }, (_, n) => `${n},row ${n}`)
  const lines = (...more: string[]) => ['id,name', ...good.slice(0, 39_999), ...more].join('\n')
  const unclosed = lines('39999,"broken', '40000,fine', '')
  const openAgain = lines('39999,"broken', '40000,"fine"', '40001,fine', '')
  const closedLater = lines('39999,"broken', '40000,fine",x', '40001,fine', '')
  for (const [text, message, rows] of [
    [unclosed, /never closed/, 40_000],
    [openAgain, /never closed/, 40_001],
    [closedLater, /is closed in line 40,002, so that the row has 3 values, not 2/, 40_000],
  ] as const) {
    const file = await openImport({ name: 'a.csv', read: () => chunksOf(Buffer.from(text)) })
    const { inference } = await readTypes(file)
    assert.equal(inference.badLine?.line, 40_001)
    assert.match(inference.badLine.message, message)
    const loaded = await load(user, text, { sendsBad: true })
    assert.equal(loaded.rows.length, rows)
    assert.match(loaded.rejected[0]!.text, /^39999,"broken/)
  }
})

test('bad rows are left out and reported by their lines in the file, even if the file is rewritten', async (t) => {
  const { user } = await setup(t)
  const csv = 'a,b,d\n1,2,31/12/2026\n3\n4,"x\ny",n/a\n5,6,7,8\n\neight,9,30/11/2026\n'
  const { rows, rejected } = await load(
    user,
    csv,
    { sendsBad: true, types: { 0: 'int' } },
    { nulls: ['n/a'] },
  )
  assert.deepEqual(rows, [
    { a: '1', b: '2', d: '2026-12-31' },
    { a: '4', b: 'x\ny', d: null },
  ])
  assert.deepEqual(
    rejected.map(({ line, column, text }) => [line, column, text]),
    [
      [3, null, '3'],
      [6, null, '5,6,7,8'],
      [7, null, ''],
      [8, 'a', 'eight,9,2026-11-30'],
    ],
  )
})

const wishes: ImportWishes = {
  table: 't',
  isAppended: false,
  names: {},
  types: {},
  points: undefined,
  isPrepared: false,
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
}

/** Loads a text as the front ends do and returns the stored rows as texts. */
async function load(
  user: TestUser,
  text: string,
  chosen: Partial<ImportWishes>,
  dialect: Partial<CsvDialect> = {},
) {
  const file = await openImport({ name: 'a.csv', read: () => chunksOf(Buffer.from(text)) }, dialect)
  const reading = await readTypes(file)
  const { plan, columns } = planImport(file, reading, { ...wishes, ...chosen })
  const pieces: Uint8Array[] = []
  for await (const piece of rewriteRows(file.text(), plan)) pieces.push(piece)
  const { create, copy } = importStatements(plan)
  await user.sql('drop table if exists t')
  await user.sql(create!)
  const skipping = plan.sendsBad ? '&on_error=skip' : ''
  const url = copyUrl(user, 'copyfrom', copy) + skipping
  const { body } = await send(url, { method: 'POST' }, Buffer.concat(pieces))
  assert.equal(typeof body.total_rows, 'number', JSON.stringify(body))
  const { rows } = await user.sql(`select ${columns.map(({ name }) => `${name}::text`)} from t order by ctid`)
  return {
    types: columns.map(({ type }) => type),
    spoilt: columns.map(({ inferred }) => inferred?.spoilt),
    rows,
    rejected: (body.rejected ?? []) as readonly RejectedRow[],
  }
}
