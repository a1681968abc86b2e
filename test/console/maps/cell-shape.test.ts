import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundsOf } from '../../../console/geo/shapes.ts'
import { readCellShape } from '../../../console/result/worker/cell-shape.ts'

type Ring = readonly (readonly [number, number])[]

/** A polygon as hex EWKB, little endian. */
function polygonHex(srid: number, rings: readonly Ring[]): string {
  const bytes = Buffer.alloc(13 + rings.reduce((sum, ring) => sum + 4 + 16 * ring.length, 0))
  let at = bytes.writeUInt8(1)
  for (const value of [0x20000003, srid, rings.length]) at = bytes.writeUInt32LE(value, at)
  for (const ring of rings) {
    at = bytes.writeUInt32LE(ring.length, at)
    for (const [x, y] of ring) at = bytes.writeDoubleLE(y, bytes.writeDoubleLE(x, at))
  }
  return bytes.toString('hex').toUpperCase()
}

function circle(points: number, radius: number): Ring {
  const on = (at: number) => (2 * Math.PI * at) / points
  const open = Array.from(
    { length: points },
    (_, at) => [radius * Math.cos(on(at)), radius * Math.sin(on(at))] as const,
  )
  return [...open, open[0]!]
}

test('a shape of very many points is drawn on the small map with those that can be seen, and its WKT has all', () => {
  const hex = polygonHex(4326, [circle(100_000, 50), circle(8, 0.001)])
  const { srid, points, wkt, drawn } = readCellShape(hex)!
  assert.deepEqual([srid, points], [4326, 100_010])
  assert.equal(wkt.split(',').length, 100_010)
  const { shape, points: drawnPoints } = drawn!
  assert.ok(drawnPoints > 2_000 && drawnPoints < 10_000, String(drawnPoints))
  assert.ok(shape.type === 'Polygon')
  const [outer, inner] = shape.coordinates
  assert.deepEqual(outer!.at(-1), outer![0], 'the ring is closed')
  assert.equal(inner!.length, 9, 'a small ring stays whole')
  for (const [side, value] of boundsOf(shape).entries())
    assert.ok(Math.abs(Math.abs(value) - 50) < 0.1, `side ${side}: ${value}`)
})

test('a shape of fewer points is drawn as it is, in longitude and latitude, and one of another system is not', () => {
  const few = readCellShape(polygonHex(4326, [circle(1_000, 50)]))!
  assert.equal(few.drawn?.points, 1_001)
  const mercator = readCellShape(polygonHex(3857, [circle(20_000, 1_000_000)]))!
  assert.ok(boundsOf(mercator.drawn!.shape).every((value) => Math.abs(value) < 9.1))
  assert.equal(readCellShape(polygonHex(25832, [circle(4, 1)]))?.drawn, undefined)
  assert.equal(readCellShape('POINT(1 2)'), null)
})
