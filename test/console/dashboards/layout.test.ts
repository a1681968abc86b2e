import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { freePlace, placed, stepped } from '../../../console/dashboards/layout.ts'
import { gridColumns } from '../../../src/contract/dashboards.ts'

const part = (id: string, x: number, y: number, w: number, h: number) => ({ id, x, y, w, h })
type Part = ReturnType<typeof part>
const placesOf = (parts: readonly Part[]) =>
  Object.fromEntries(parts.map(({ id, x, y, w, h }) => [id, `${x},${y} ${w}x${h}`]))

test('a part that is moved pushes others down, or past them up to free space', () => {
  const start = [part('a', 0, 0, 6, 2), part('b', 6, 0, 6, 4), part('c', 0, 2, 6, 3)]
  assert.deepEqual(placesOf(placed(start, 'c', { y: 0 })), { a: '0,3 6x2', b: '6,0 6x4', c: '0,0 6x3' })
  assert.deepEqual(placesOf(stepped(start, 'a', 'down')), { a: '0,3 6x2', b: '6,0 6x4', c: '0,0 6x3' })
  assert.deepEqual(placesOf(stepped(start, 'c', 'up')), { a: '0,3 6x2', b: '6,0 6x4', c: '0,0 6x3' })
  assert.deepEqual(stepped(start, 'b', 'right'), start)
  assert.deepEqual(placesOf(stepped(start, 'a', 'right')), { a: '1,0 6x2', b: '6,2 6x4', c: '0,2 6x3' })
  assert.deepEqual(placesOf(placed(start, 'a', { w: 20, h: 0 })), {
    a: '0,0 12x1',
    b: '6,1 6x4',
    c: '0,1 6x3',
  })
  assert.deepEqual(freePlace(start, 6, 1), { x: 6, y: 4, w: 6, h: 1 })
  assert.deepEqual(freePlace(start, 12, 2), { x: 0, y: 5, w: 12, h: 2 })
})

test('parts never overlap, however they are moved and resized', () => {
  const size = { w: fc.integer({ min: 1, max: 12 }), h: fc.integer({ min: 1, max: 9 }) }
  const acts = fc.array(
    fc.record({
      at: fc.nat(9),
      to: fc.record(
        { x: fc.integer({ min: -3, max: 14 }), y: fc.integer({ min: -3, max: 40 }), ...size },
        { requiredKeys: [] },
      ),
      direction: fc.option(fc.constantFrom('left', 'right', 'up', 'down')),
    }),
  )
  fc.assert(
    fc.property(fc.array(fc.record(size), { minLength: 1, maxLength: 10 }), acts, (sizes, moves) => {
      let parts: readonly Part[] = []
      for (const [at, { w, h }] of sizes.entries())
        parts = [...parts, { id: String(at), ...freePlace(parts, w, h) }]
      for (const { at, to, direction } of moves) {
        const { id } = parts[at % parts.length]!
        parts = direction ? stepped(parts, id, direction) : placed(parts, id, to)
        assert.equal(overlap(parts), undefined)
      }
    }),
  )
})

/** Two parts in one cell, or one beyond the grid. */
function overlap(parts: readonly Part[]): string | undefined {
  const taken = new Map<string, string>()
  for (const { id, x, y, w, h } of parts)
    for (let column = x; column < x + w; column++)
      for (let row = y; row < y + h; row++) {
        const cell = `${column},${row}`
        if (taken.has(cell) || column < 0 || column >= gridColumns || row < 0) return `${id} at ${cell}`
        taken.set(cell, id)
      }
  return undefined
}
