import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { membersOf, RowScanner, shownValue } from '../../src/contract/text/json-rows.ts'

const row = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 3 }))
const document = fc.record({
  rows: fc.array(row),
  time: fc.double({ noNaN: true, noDefaultInfinity: true }),
  fields: fc.jsonValue(),
})

test('the rows of any answer are found, wherever it is split while it arrives', () => {
  fc.assert(
    fc.property(document, fc.array(fc.nat(40)), (value, lengths) => {
      const text = JSON.stringify(value)
      const bytes = Buffer.from(text)
      const scanner = new RowScanner()
      for (const chunk of cut(bytes, lengths)) scanner.feed(chunk)
      const rows = Array.from({ length: scanner.count }, (_, at) =>
        JSON.parse(bytes.toString('utf8', scanner.start(at), scanner.end(at))),
      )
      assert.deepEqual(rows, JSON.parse(text).rows)
      const tail = JSON.parse(`{"rows":[]${bytes.toString('utf8', scanner.tailStart)}`)
      assert.deepEqual(tail, { ...JSON.parse(text), rows: [] })
    }),
    { numRuns: 500 },
  )
})

test('the members of any row keep their order, their names and every digit', () => {
  const spaced = fc.constantFrom(undefined, 2)
  fc.assert(
    fc.property(row, spaced, (value, space) => {
      const text = JSON.stringify(value, null, space)
      const members = membersOf(text)
      assert.deepEqual(
        members.map(([name]) => name),
        Object.keys(value),
      )
      assert.deepEqual(
        Object.fromEntries(members.map(([name, raw]) => [name, JSON.parse(raw)])),
        JSON.parse(text),
      )
    }),
    { numRuns: 500 },
  )
  assert.deepEqual(membersOf('{"b":9007199254740993,"1":0.1000, "b" : {"x":[1e400,"}"]}}'), [
    ['b', '9007199254740993'],
    ['1', '0.1000'],
    ['b', '{"x":[1e400,"}"]}'],
  ])
  assert.deepEqual(['null', '""', '"a\\n"', '-0', 'true'].map(shownValue), [null, '', 'a\n', '-0', 'true'])
})

/** Into pieces of these lengths; the rest is one piece. */
function* cut(bytes: Uint8Array, lengths: readonly number[]): Generator<Uint8Array> {
  let at = 0
  for (const length of lengths) {
    yield bytes.subarray(at, at + length)
    at += length
  }
  yield bytes.subarray(at)
}
