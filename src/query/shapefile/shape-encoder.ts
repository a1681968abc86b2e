import type { WkbKind } from '../files/file-geometry.ts'

/** The box of geometries, with Z and M: the smallest and the greatest of each. */
export type ShapeBox = Float64Array

export const emptyBox = (): ShapeBox =>
  Float64Array.of(
    ...Array.from({ length: 4 }, () => [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]).flat(),
  )

/**
 * Turns the WKB of a geometry into what a record of a shapefile holds: the type of the shape, and its coordinates. Rings outside are
 * clockwise, holes the other way round. Parts without points are left out.
 */
export class ShapeEncoder {
  /** The record, from 0 to the length that `encode` returns. */
  bytes = Buffer.allocUnsafeSlow(usualBytes)
  /** The geometry alone. */
  readonly box = emptyBox()
  #view = new DataView(this.bytes.buffer)
  #wkb: DataView = this.#view
  /** Where the points of each part begin in the WKB, how many it has, and whether they are written from the last to the first. */
  #places: number[] = []
  #counts: number[] = []
  #turned: boolean[] = []
  #points = 0
  /** Bytes of a point in the WKB. */
  #stride = 16

  /** 0: the geometry is empty. */
  encode(wkb: DataView, { type, dimensions }: WkbKind): number {
    this.#wkb = wkb
    this.#stride = 16 + (dimensions === 0 ? 0 : dimensions === 3 ? 16 : 8)
    const shape = shapeType({ type, dimensions })
    if (type === 1) return this.#point(shape, dimensions)
    this.#places.length = 0
    this.#counts.length = 0
    this.#turned.length = 0
    this.#points = 0
    this.#collect(0)
    if (this.#points === 0) return 0
    this.box.set(noBox)
    return this.#write(shape, dimensions)
  }

  #point(shape: number, dimensions: number): number {
    const [wkb, view, { box }] = [this.#wkb, this.#view, this]
    box.set(noBox)
    const x = wkb.getFloat64(5, true)
    const y = wkb.getFloat64(13, true)
    if (Number.isNaN(x) && Number.isNaN(y)) return 0
    view.setInt32(0, shape, true)
    view.setFloat64(4, x, true)
    view.setFloat64(12, y, true)
    box[0] = box[1] = x
    box[2] = box[3] = y
    if (dimensions === 0) return 20
    const first = wkb.getFloat64(21, true)
    view.setFloat64(20, first, true)
    const at = dimensions === 2 ? 6 : 4
    box[at] = box[at + 1] = first
    if (dimensions < 3) return 28
    const m = wkb.getFloat64(29, true)
    view.setFloat64(28, m, true)
    box[6] = box[7] = m
    return 36
  }

  /** Finds the parts of a geometry that begins at a place of the WKB. Returns where it ends. */
  #collect(start: number): number {
    const type = this.#wkb.getUint32(start + 1, true) % 1000
    if (type === 1) {
      if (!Number.isNaN(this.#wkb.getFloat64(start + 5, true))) this.#part(start + 5, 1, false)
      return start + 5 + this.#stride
    }
    const count = this.#wkb.getUint32(start + 5, true)
    let at = start + 9
    if (type === 2) {
      this.#part(at, count, false)
      return at + count * this.#stride
    }
    for (let part = 0; part < count; part += 1) {
      if (type !== 3) at = this.#collect(at)
      else {
        const points = this.#wkb.getUint32(at, true)
        this.#part(at + 4, points, this.#isClockwise(at + 4, points) !== (part === 0))
        at += 4 + points * this.#stride
      }
    }
    return at
  }

  #part(place: number, count: number, isTurned: boolean): void {
    if (count === 0) return
    this.#places.push(place)
    this.#counts.push(count)
    this.#turned.push(isTurned)
    this.#points += count
  }

  #isClockwise(place: number, count: number): boolean {
    if (count === 0) return false
    const wkb = this.#wkb
    const [x0, y0] = [wkb.getFloat64(place, true), wkb.getFloat64(place + 8, true)]
    let area = 0
    let [x, y] = [0, 0]
    for (let at = place + this.#stride, end = place + count * this.#stride; at < end; at += this.#stride) {
      const nextX = wkb.getFloat64(at, true) - x0
      const nextY = wkb.getFloat64(at + 8, true) - y0
      area += x * nextY - nextX * y
      x = nextX
      y = nextY
    }
    return area < 0
  }

  #write(shape: number, dimensions: number): number {
    const hasParts = shape % 10 !== multiPoint
    const parts = this.#places.length
    const points = this.#points
    const pointsAt = hasParts ? 44 + 4 * parts : 40
    const zAt = pointsAt + 16 * points
    const [hasZ, hasM] = [dimensions === 1 || dimensions === 3, dimensions >= 2]
    const mAt = zAt + (hasZ ? 16 + 8 * points : 0)
    const length = mAt + (hasM ? 16 + 8 * points : 0)
    this.#grow(length)
    const [view, { box }] = [this.#view, this]
    view.setInt32(0, shape, true)
    if (hasParts) {
      view.setInt32(36, parts, true)
      view.setInt32(40, points, true)
      let first = 0
      for (let part = 0; part < parts; part += 1) {
        view.setInt32(44 + 4 * part, first, true)
        first += this.#counts[part]!
      }
    } else view.setInt32(36, points, true)
    this.#copy(0, pointsAt, 16, 0)
    this.#copy(8, pointsAt + 8, 16, 2)
    if (hasZ) this.#copy(16, zAt + 16, 8, 4)
    if (hasM) this.#copy(hasZ ? 24 : 16, mAt + 16, 8, 6)
    for (const [at, place] of [0, 2, 1, 3].entries()) view.setFloat64(4 + 8 * at, box[place]!, true)
    if (hasZ) this.#range(zAt, 4)
    if (hasM) this.#range(mAt, 6)
    return length
  }

  /** Writes one coordinate of all points, from its place in a point of the WKB, and notes its range in the box. */
  #copy(source: number, target: number, step: number, range: number): void {
    const [wkb, view, stride] = [this.#wkb, this.#view, this.#stride]
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    let to = target
    for (let part = 0; part < this.#places.length; part += 1) {
      const [count, isTurned] = [this.#counts[part]!, this.#turned[part]!]
      let from = this.#places[part]! + source + (isTurned ? (count - 1) * stride : 0)
      const forward = isTurned ? -stride : stride
      for (let point = 0; point < count; point += 1, from += forward, to += step) {
        const value = wkb.getFloat64(from, true)
        view.setFloat64(to, value, true)
        if (value < low) low = value
        if (value > high) high = value
      }
    }
    // All of them are NaN.
    if (low > high) low = high = 0
    this.box[range] = low
    this.box[range + 1] = high
  }

  #range(at: number, place: number): void {
    this.#view.setFloat64(at, this.box[place]!, true)
    this.#view.setFloat64(at + 8, this.box[place + 1]!, true)
  }

  #grow(length: number): void {
    const wanted = length <= usualBytes ? usualBytes : length
    if (length <= this.bytes.length && this.bytes.length < keptBytes) return
    this.bytes = Buffer.allocUnsafeSlow(wanted)
    this.#view = new DataView(this.bytes.buffer)
  }
}

/** The number of a kind of shape: a point with Z is 11. */
export function shapeType({ type, dimensions }: Pick<WkbKind, 'type' | 'dimensions'>): number {
  return shapeTypes[type]! + (dimensions === 0 ? 0 : dimensions === 2 ? 20 : 10)
}

const multiPoint = 8
const shapeTypes: Readonly<Record<number, number>> = { 1: 1, 2: 3, 3: 5, 4: multiPoint, 5: 3, 6: 5 }
const noBox = emptyBox()
const usualBytes = 64 * 1024
/** A larger one is not kept for the next geometry. */
const keptBytes = 1024 ** 2
