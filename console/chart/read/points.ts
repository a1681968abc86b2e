import { formatCount } from '../../parts/format.ts'
import { mostPoints } from './chart-data.ts'

export type Points = Readonly<{ x: Float64Array; y: Float64Array }>

/** Points in the order of x. */
export function inOrder(x: readonly number[], y: readonly number[]): Points {
  if (x.every((value, at) => at === 0 || x[at - 1]! <= value))
    return { x: Float64Array.from(x), y: Float64Array.from(y) }
  const order = Uint32Array.from(x, (_, at) => at).sort((one, other) => x[one]! - x[other]! || one - other)
  return { x: Float64Array.from(order, (at) => x[at]!), y: Float64Array.from(order, (at) => y[at]!) }
}

/** At most 100,000 points of all series. A line keeps its peaks, a scatter chart every second, third, ... point. */
export function thinned(all: readonly Points[], keepsPeaks: boolean): readonly Points[] {
  const total = all.reduce((sum, { x }) => sum + x.length, 0)
  if (total <= mostPoints) return all
  const step = Math.ceil((total / mostPoints) * (keepsPeaks ? 2 : 1))
  return all.map((points) => (keepsPeaks ? peaksOf(points, step) : everyOne(points, step)))
}

function everyOne({ x, y }: Points, step: number): Points {
  const kept = Float64Array.from({ length: Math.ceil(x.length / step) }, (_, at) => at * step)
  return { x: kept.map((at) => x[at]!), y: kept.map((at) => y[at]!) }
}

/** The lowest and the highest of each `step` points, in order. */
function peaksOf({ x, y }: Points, step: number): Points {
  const kept: number[] = []
  for (let from = 0; from < x.length; from += step) {
    let [low, high] = [from, from]
    for (let at = from; at < Math.min(from + step, x.length); at++) {
      if (y[at]! < y[low]! || Number.isNaN(y[low])) low = at
      if (y[at]! > y[high]! || Number.isNaN(y[high])) high = at
    }
    kept.push(...new Set([Math.min(low, high), Math.max(low, high)]))
  }
  return { x: Float64Array.from(kept, (at) => x[at]!), y: Float64Array.from(kept, (at) => y[at]!) }
}

/** Says how many points were reduced to how many. */
export function thinnedNote(all: readonly Points[], kept: readonly Points[], kind: string): string[] {
  const count = (some: readonly Points[]) => some.reduce((sum, { x }) => sum + x.length, 0)
  if (count(all) === count(kept)) return []
  const how =
    kind === 'scatter'
      ? `one of every ${Math.round(count(all) / count(kept))}`
      : 'the lowest and highest of them'
  return [`Draws ${formatCount(count(kept))} of ${formatCount(count(all))} points: ${how}.`]
}
