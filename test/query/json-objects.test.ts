import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ByteWriter, chunkBytes } from '../../src/query/byte-writer.ts'
import { planObjects, writeObject } from '../../src/query/json-objects.ts'

const oids = { text: 25, textArray: 1009, float8: 701, bool: 16, jsonb: 3802 }

test('any text survives the way from the wire to JSON, whatever its length', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\x01', 'é', '🎈', 'x') }),
    fc.integer({ min: 0, max: 3 * chunkBytes }).map((length) => '"x\x1f'.repeat(length / 3)),
  )
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.option(text), { minLength: 3, maxLength: 3 }), { maxLength: 20 }),
      (rows) => {
        const sent = rows.map((row) => row.map(wellFormed))
        const objects = written(['a', 'b"', 'ç'], [oids.text, oids.text, oids.text], sent)
        assert.deepEqual(
          objects,
          sent.map(([a, b, c]) => ({ a, 'b"': b, ç: c })),
        )
      },
    ),
    { numRuns: 200 },
  )
})

test('any array of text survives, nested or not', () => {
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
    { numRuns: 500 },
  )
})

test('hidden columns are jumped over, and numbers and booleans are none of JSON strings', () => {
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

/** Writes rows as DataRow messages, has them turned into objects, and reads what came out. */
function written(
  names: readonly string[],
  typeOids: readonly number[],
  rows: readonly (string | null)[][],
  skipped: readonly string[] = [],
): unknown[] {
  const chunks: Buffer[] = []
  const out = new ByteWriter((chunk) => chunks.push(Buffer.from(chunk)))
  const columns = names.map((name, place) => ({ name, typeOid: typeOids[place]!, isBinary: false }))
  const plan = planObjects(columns, skipped)
  for (const row of rows) {
    const message = dataRow(row)
    writeObject(out, plan, message, 0, message.length)
    out.ascii('\n')
  }
  chunks.push(out.finish())
  for (const chunk of chunks) assert.ok(chunk.length <= chunkBytes)
  const lines = Buffer.concat(chunks).toString().split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
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

/** PostgreSQL keeps no lone surrogates, and no NUL. */
function wellFormed(text: string | null): string | null {
  return text === null ? null : Buffer.from(text.replaceAll('\0', '')).toString()
}
