import type { ChartSeries } from '../read/chart-data.ts'
import type { Layout, PlotBox } from './layout.ts'

/** Marks of a series of points: each series has another shape, so that they differ not only by colour. */
const shapes: readonly ((x: string, y: string) => string)[] = [
  (x, y) => `M${x} ${y}m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0`,
  (x, y) => `M${x} ${y}m-2.5-2.5h5v5h-5z`,
  (x, y) => `M${x} ${y}m0-3.5l3.5 6h-7z`,
  (x, y) => `M${x} ${y}m0-3.5l3.5 3.5-3.5 3.5-3.5-3.5z`,
  (x, y) => `M${x} ${y}m-1-3.5h2v2.5h2.5v2h-2.5v2.5h-2v-2.5h-2.5v-2h2.5z`,
  (x, y) => `M${x} ${y}m0 3.5l3.5-6h-7z`,
  (x, y) => `M${x} ${y}m-3.5-1h7v2h-7z`,
  (x, y) => `M${x} ${y}m-1-3.5h2v7h-2z`,
]

export const shapeAt = (series: number, x: number, y: number) =>
  shapes[series % shapes.length]!(short(x), short(y))

const short = (value: number) => String(Math.round(value * 10) / 10)

const marksPerPath = 2_000

/** Paths of the marks, some thousand in each. Only one of several points at one pixel is drawn. */
export function* markPaths({ x, y }: ChartSeries, series: number, layout: Layout): Generator<string> {
  const { width, height } = layout.size
  const taken = new Uint8Array(Math.ceil(width + 1) * Math.ceil(height + 1))
  let marks: string[] = []
  for (let at = 0; at < x.length; at++) {
    const [left, top] = [layout.placeAt(x[at]!), layout.valueAt(y[at]!)]
    if (Number.isNaN(top)) continue
    const pixel = Math.round(top) * Math.ceil(width + 1) + Math.round(left)
    if (taken[pixel]) continue
    taken[pixel] = 1
    if (marks.push(shapeAt(series, left, top)) < marksPerPath) continue
    yield marks.join('')
    marks = []
  }
  if (marks.length > 0) yield marks.join('')
}

/** A line with gaps where there is no value, and the same down to `foot`. */
export function linePath({ x, y }: ChartSeries, { placeAt, valueAt }: Layout, foot?: number): string {
  let path = ''
  let run: string[] = []
  let [first, last] = [0, 0]
  const end = () => {
    if (run.length > 0)
      path += foot === undefined ? `M${run.join('L')}` : `M${first} ${foot}L${run.join('L')}L${last} ${foot}Z`
    run = []
  }
  for (const at of drawnOf({ x, y }, placeAt)) {
    const top = valueAt(y[at]!)
    if (Number.isNaN(top)) {
      end()
      continue
    }
    last = Math.round(placeAt(x[at]!) * 10) / 10
    if (run.length === 0) first = last
    run.push(`${last} ${short(top)}`)
  }
  end()
  return path
}

/** Of many points at one pixel: the first, the lowest, the highest, the last, and one without a value. */
function drawnOf({ x, y }: Pick<ChartSeries, 'x' | 'y'>, placeAt: Layout['placeAt']): Iterable<number> {
  if (x.length < 4_000) return x.keys()
  const kept: number[] = []
  for (let from = 0; from < x.length; ) {
    const pixel = Math.round(placeAt(x[from]!))
    let [low, high, gap, to] = [from, from, -1, from]
    while (to < x.length && Math.round(placeAt(x[to]!)) === pixel) {
      if (Number.isNaN(y[to])) gap = to
      if (!(y[to]! >= y[low]!)) low = to
      if (!(y[to]! <= y[high]!)) high = to
      to++
    }
    kept.push(...[...new Set([from, low, high, gap, to - 1])].filter((at) => at >= 0).sort((a, b) => a - b))
    from = to
  }
  return kept
}

/** A part of a circle; a whole one has no edges. */
export function partPath({ left, top, right, bottom }: PlotBox, from: number, to: number): string {
  const [x, y, radius] = [(left + right) / 2, (top + bottom) / 2, (right - left) / 2]
  if (to - from > 0.999_999)
    return `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0Z`
  const on = (share: number) => {
    const angle = 2 * Math.PI * share
    return `${short(x + radius * Math.sin(angle))} ${short(y - radius * Math.cos(angle))}`
  }
  return `M${x} ${y}L${on(from)}A${radius} ${radius} 0 ${to - from > 0.5 ? 1 : 0} 1 ${on(to)}Z`
}
