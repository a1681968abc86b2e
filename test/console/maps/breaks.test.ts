import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { breaksOf, methods } from '../../../console/maps/breaks.ts'
import { coloursIn } from '../../../console/maps/ramps.ts'

test('quantiles have equally many values each, equal steps are equally wide, natural breaks lie in the gaps', () => {
  const values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100]
  assert.deepEqual(breaksOf(values, 'quantiles', 5), [3, 5, 7, 9])
  assert.deepEqual(breaksOf([0, 10], 'equal', 5), [2, 4, 6, 8])
  assert.deepEqual(breaksOf([1, 2, 3, 50, 51, 52, 900, 901], 'natural', 3), [50, 900])
  assert.deepEqual(breaksOf([], 'natural', 3), [])
  assert.deepEqual(breaksOf([7, 7, 7], 'quantiles', 5), [])
})

test('classes are in order, at most as many as requested, and none is below the smallest value', () => {
  const numbers = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { maxLength: 60 })
  fc.assert(
    fc.property(
      numbers,
      fc.constantFrom(...methods),
      fc.integer({ min: 2, max: 7 }),
      (values, method, count) => {
        const breaks = breaksOf(values, method, count)
        assert.ok(breaks.length < count)
        assert.deepEqual(
          [...breaks].sort((one, other) => one - other),
          breaks,
        )
        assert.ok(breaks.every((bound) => bound > Math.min(...values)))
      },
    ),
  )
})

test('no other division deviates less within its classes than natural breaks', () => {
  const values = [1, 4, 5, 9, 12, 13, 20, 31, 33, 34]
  const cost = (breaks: readonly number[]) => {
    const classes = [...breaks, Number.POSITIVE_INFINITY].map((upper, at) =>
      values.filter((value) => value < upper && value >= (breaks[at - 1] ?? Number.NEGATIVE_INFINITY)),
    )
    return classes.reduce((sum, each) => {
      const mean = each.reduce((all, value) => all + value, 0) / each.length
      return sum + each.reduce((all, value) => all + (value - mean) ** 2, 0)
    }, 0)
  }
  const found = cost(breaksOf(values, 'natural', 3))
  for (const one of values.slice(1))
    for (const other of values.filter((value) => value > one)) assert.ok(found <= cost([one, other]) + 1e-9)
})

test('a ramp has one colour per class, from its first to its last', () => {
  assert.deepEqual(coloursIn('Viridis', 5), ['#fde725', '#6ece58', '#1fa187', '#31688e', '#440154'])
  const seven = coloursIn('Blues', 7)
  assert.deepEqual([seven.length, seven[0], seven[6]], [7, '#dbe9f6', '#08306b'])
})
