import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ByteWriter, chunkBytes } from '../../src/query/rows/byte-writer.ts'
import { CsvFormat } from '../../src/query/rows/csv-format.ts'
import { planObjects, writeObject } from '../../src/query/rows/json-objects.ts'
import { cases } from '../support/search/cases.ts'

const oids = { timestamptz: 1184, text: 25, textArray: 1009, float8: 701, bool: 16, jsonb: 3802 }

test('any text is the same in JSON as on the wire, at any length', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\x01', 'é', '🎈', 'x') }),
    fc.integer({ min: 0, max: 3 * chunkBytes }).map((length) => '"x\x1f'.repeat(length / 3)),
  )
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.option(text), { minLength: 3, maxLength: 3 }), { maxLength: 6 }),
      (rows) => {
        const sent = rows.map((row) => row.map(wellFormed))
        const objects = written(['a', 'b"', 'ç'], [oids.text, oids.text, oids.text], sent)
        assert.deepEqual(
          objects,
          sent.map(([a, b, c]) => ({ a, 'b"': b, ç: c })),
        )
      },
    ),
    { numRuns: cases(60) },
  )
})

test('any array of texts is the same in JSON, nested or not', () => {
  const element = fc.option(
    fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', ',', 'N', ' ') }),
      fc.constant('NULL'),
    ),
  )
  const flat = fc.array(element)
  const nested = fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 4 })).chain(([rows, columns]) =>
    fc.array(fc.array(element, { minLength: columns + 1, maxLength: columns + 1 }), {
      minLength: rows + 1,
      maxLength: rows + 1,
    }),
  )
  fc.assert(
    fc.property(fc.oneof(flat, nested), (array) => {
      assert.deepEqual(written(['a'], [oids.textArray], [[arrayText(array)]]), [{ a: array }])
    }),
    { numRuns: cases(150) },
  )
})

test('hidden columns are skipped, and numbers and booleans are not JSON strings', () => {
  const plan = [oids.float8, oids.text, oids.bool, oids.jsonb]
  const rows = [
    ['1.5', 'hidden', 't', '{"x": 1}'],
    ['-Infinity', 'hidden', 'f', null],
  ]
  assert.deepEqual(written(['n', 'h', 'b', 'j'], plan, rows, ['h']), [
    { n: 1.5, b: true, j: { x: 1 } },
    { n: '-Infinity', b: false, j: null },
  ])
})

test('any text is the same in CSV as on the wire, at any length', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', 'é', '🎈', 'x') }),
    fc.integer({ min: 0, max: 3 * chunkBytes }).map((length) => '"x,'.repeat(length / 3)),
    fc.nat({ max: chunkBytes }).map((length) => 'x'.repeat(length)),
  )
  const row = fc.tuple(fc.option(text), fc.option(fc.double().map(String)), fc.option(text))
  fc.assert(
    fc.property(fc.array(row, { maxLength: 6 }), (rows) => {
      const sent = rows.map((each) => each.map(wellFormed))
      const quoted = (value: string | null) =>
        value === '' || /[",\r\n]/.test(value ?? '') ? `"${value?.replaceAll('"', '""')}"` : value
      const lines = sent.map((values) => `${values.map(quoted).join()}\r\n`)
      assert.equal(
        writtenCsv(['a', 'n', 'b'], [oids.text, oids.float8, oids.text], sent),
        `a,n,b\r\n${lines.join('')}`,
      )
    }),
    { numRuns: cases(60) },
  )
})

test('timestamps are ISO 8601 in every zone and precision', () => {
  const seen = [
    ['2026-01-31 23:59:59+00', '2026-01-31T23:59:59Z'],
    ['2026-01-31 23:59:59.123456+00', '2026-01-31T23:59:59.123456Z'],
    ['2026-01-31 23:59:59.5+02', '2026-01-31T23:59:59.5+02:00'],
    ['2026-01-31 23:59:59-03:30', '2026-01-31T23:59:59-03:30'],
    ['10026-01-31 23:59:59+00', '10026-01-31T23:59:59Z'],
    ['0044-03-15 12:00:00+00 BC', '0044-03-15 12:00:00+00 BC'],
    ['infinity', 'infinity'],
    ['-infinity', '-infinity'],
    ['Sat 31 Jan 23:59:59 2026 UTC', 'Sat 31 Jan 23:59:59 2026 UTC'],
  ] as const
  const rows = seen.map(([sent]) => [sent, sent])
  assert.deepEqual(
    written(['a', 'b'], [oids.timestamptz, oids.timestamptz], rows),
    seen.map(([, iso]) => ({ a: iso, b: iso })),
  )
})

function writtenCsv(
  names: readonly string[],
  typeOids: readonly number[],
  rows: readonly (string | null)[][],
): string {
  const chunks: Buffer[] = []
  const out = new ByteWriter((chunk) => chunks.push(Buffer.from(chunk)))
  const format = new CsvFormat({ skippedFields: new Set() })
  format.columns(
    out,
    names.map((name, place) => ({ name, typeOid: typeOids[place]!, modifier: -1, isBinary: false })),
  )
  for (const { buffer, start, end } of asTheyCome(rows)) format.row(out, buffer, start, end)
  return Buffer.concat([...chunks, Buffer.from(out.finish(), 'latin1')]).toString()
}

/** Writes rows as DataRow messages, converts them to objects, and returns these. */
function written(
  names: readonly string[],
  typeOids: readonly number[],
  rows: readonly (string | null)[][],
  skipped: readonly string[] = [],
): unknown[] {
  const chunks: Buffer[] = []
  const out = new ByteWriter((chunk) => chunks.push(Buffer.from(chunk)))
  const columns = names.map((name, place) => ({
    name,
    typeOid: typeOids[place]!,
    modifier: -1,
    isBinary: false,
  }))
  const plan = planObjects(columns, new Set(skipped))
  for (const { buffer, start, end } of asTheyCome(rows)) {
    writeObject(out, plan, buffer, start, end)
    out.ascii('\n')
  }
  chunks.push(Buffer.from(out.finish(), 'latin1'))
  for (const chunk of chunks) assert.ok(chunk.length <= chunkBytes)
  const lines = Buffer.concat(chunks).toString().split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

/** As one buffer with all messages, and as a buffer for each. */
function asTheyCome(rows: readonly (readonly (string | null)[])[]) {
  const messages = rows.map(dataRow)
  const buffer = Buffer.concat(messages)
  let start = 0
  return messages.map((message, place) => {
    start += message.length
    if (place % 3 === 2) return { buffer: message, start: 0, end: message.length }
    return { buffer, start: start - message.length, end: start }
  })
}

function dataRow(values: readonly (string | null)[]): Buffer {
  const count = Buffer.alloc(2)
  count.writeInt16BE(values.length)
  const fields = values.flatMap((value) => {
    const bytes = Buffer.from(value ?? '')
    const length = Buffer.alloc(4)
    length.writeInt32BE(value === null ? -1 : bytes.length)
    return [length, bytes]
  })
  return Buffer.concat([count, ...fields])
}

type Nested = readonly (string | null | Nested)[]

function arrayText(array: Nested): string {
  const parts = array.map((part) => {
    if (part === null) return 'NULL'
    if (typeof part !== 'string') return arrayText(part)
    return `"${part.replace(/["\\]/g, '\\$&')}"`
  })
  return `{${parts.join()}}`
}

/** PostgreSQL stores neither lone surrogates nor NUL. */
function wellFormed(text: string | null): string | null {
  return text === null ? null : Buffer.from(text.replaceAll('\0', '')).toString()
}
