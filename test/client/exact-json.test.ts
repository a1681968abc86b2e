import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ExactNumber, parseExact, stringifyExact } from '../../src/client/exact-json.ts'

test('a number comes back as it was written, whatever it is', () => {
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

test('numbers are numbers where a double holds them, bigints where they are long, and exact otherwise', () => {
  assert.deepEqual(parseExact('[1, -2.5, 9007199254740993]'), [1, -2.5, 9007199254740993n])
  const [price] = parseExact('[1.50]') as [ExactNumber]
  assert.ok(price instanceof ExactNumber)
  assert.equal(String(price), '1.50')
  assert.equal(Number(price) * 2, 3)
})

test('any JSON is read as JSON.parse reads it, but for its numbers', () => {
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
