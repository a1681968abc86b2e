import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'lossless-json'
import { ExactNumber, jsonReader, parseExact, stringifyExact } from '../../src/client/exact-json.ts'

test('any number is returned as it was written', () => {
  const digits = fc.array(fc.constantFrom(...'0123456789'), { maxLength: 25 }).map((each) => each.join(''))
  const whole = digits.map((text) => text.replace(/^0+(?=.)/, '') || '0')
  const fraction = fc.option(
    fc.tuple(digits, fc.constantFrom(...'0123456789')).map((parts) => `.${parts.join('')}`),
  )
  const exponent = fc.option(
    fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), fc.nat(400)).map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(fc.constantFrom('', '-'), whole, fraction, exponent, (sign, before, after, power) => {
      const text = `{"a":[${sign}${before}${after ?? ''}${power ?? ''}]}`
      assert.equal(stringifyExact(parseExact(text)), text)
    }),
    { numRuns: 3000 },
  )
})

test('numbers are numbers if a double holds them, bigints if they are long, and exact otherwise', () => {
  assert.deepEqual(parseExact('[1, -2.5, 9007199254740993]'), [1, -2.5, 9007199254740993n])
  const [price] = parseExact('[1.50]') as [ExactNumber]
  assert.ok(price instanceof ExactNumber)
  assert.equal(String(price), '1.50')
  assert.equal(Number(price) * 2, 3)
})

test('any JSON is read as JSON.parse reads it, except its numbers', () => {
  const isSafe = (value: unknown) => !JSON.stringify(value).includes('__proto__')
  const value = fc.jsonValue({ noUnicodeString: false } as object).filter(isSafe)
  fc.assert(
    fc.property(value, (each) => {
      const text = JSON.stringify({ each, exact: 0 }).replace(/0}$/, '1.50}')
      const read = parseExact(text) as { each: unknown }
      assert.equal(stringifyExact(read), text)
    }),
  )
})

test('any JSON with any numbers is read like by a parser that checks every number', () => {
  const number = fc.oneof(
    fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,20})?([eE][-+]?\d{1,3})?$/),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => JSON.stringify(each)),
    fc.constantFrom(
      '0',
      '-0',
      '0.1',
      '1.50',
      '0.0000001',
      '9007199254740993',
      '123456789012345',
      '1e5',
      '-1.0',
    ),
  )
  const string = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('a', '"', '\\', '__proto__', '1', '-0.50'),
  )
  const space = fc.constantFrom('', '', ' ', '\n\t')
  const { json } = fc.letrec<{ json: string }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      number,
      fc.oneof(
        string.map((each) => JSON.stringify(each)),
        fc.constantFrom('true', 'false', 'null'),
      ),
      fc
        .tuple(space, fc.array(tie('json'), { maxLength: 4 }))
        .map(([gap, each]) => `[${gap}${each.join(`${gap},`)}]`),
      fc
        .tuple(space, fc.array(fc.tuple(string, tie('json')), { maxLength: 4 }))
        .map(
          ([gap, each]) =>
            `{${each.map(([name, value]) => `${JSON.stringify(name)}:${gap}${value}`).join(`,${gap}`)}}`,
        ),
    ),
  }))
  for (const numbers of ['exact', 'bigint', 'string'] as const) {
    const read = jsonReader(numbers)
    const readNumber = (text: string) => read(text)
    const options = {
      parseNumber: readNumber,
      onDuplicateKey: ({ newValue }: { newValue: unknown }) => newValue,
    }
    fc.assert(
      fc.property(json, (text) => {
        assert.deepEqual(read(text), parse(text, null, options), text)
        assert.deepEqual(Reflect.ownKeys(Object.prototype), keysOfAll, text)
      }),
      { numRuns: 3_000 },
    )
  }
})

test('no JSON can add a member to every object', () => {
  for (const text of [
    '{"a":{"__proto__":[1.50]},"a":{}}',
    '{"a":{"__proto__":{"polluted":1.50}},"a":{}}',
    '{"a":{"__proto__":{"__proto__":{"polluted":1.50}}},"a":{"__proto__":{}}}',
    '[{"__proto__":{"polluted":1.50},"__proto__":1}]',
  ]) {
    const read = JSON.stringify(parseExact(text), (_, value) => (value instanceof ExactNumber ? 1.5 : value))
    assert.equal(read, JSON.stringify(JSON.parse(text)), text)
    assert.deepEqual(Reflect.ownKeys(Object.prototype), keysOfAll, text)
  }
})

const keysOfAll = Reflect.ownKeys(Object.prototype)

test('of two members with one name the last counts, as in JSON.parse', () => {
  assert.deepEqual(parseExact('{"a":9007199254740993,"b":{"c":1.50,"c":"x"},"a":2}'), { a: 2, b: { c: 'x' } })
})

test('invalid JSON is refused, whatever its numbers are', () => {
  for (const text of [
    '',
    '{"a":1.50',
    '[1.50,]',
    '{"a":01}',
    '1.50.',
    '{"a":"\n1.50"}',
    '[-]',
    '{"a" 1.50}',
  ]) {
    assert.throws(() => parseExact(text), SyntaxError, text)
  }
})
