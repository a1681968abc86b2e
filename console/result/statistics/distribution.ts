import type { ColumnStatistics, StatisticsSource } from './column-statistics.ts'

/** Shares of all rows, in steps of equal width between two values. */
export type Distribution = Readonly<{ min: string; max: string; bars: readonly number[] }>

const steps = 24

/**
 * How numbers or times are distributed. Undefined for other types, and with fewer than two known values. PostgreSQL
 * leaves the most frequent values out of its bounds, a sample does not.
 */
export function distributionOf(
  { type, bounds, common, nullShare }: ColumnStatistics,
  source: StatisticsSource,
): Distribution | undefined {
  const read = readerFor(type)
  if (!read) return undefined
  const edges = bounds.map(read)
  const apart = source === 'analyze' ? common.map(({ value, share }) => ({ at: read(value), share })) : []
  const all = [...edges, ...apart.map(({ at }) => at)]
  if (all.length < 2 || !all.every(Number.isFinite)) return undefined
  const [min, max] = [Math.min(...all), Math.max(...all)]
  if (min === max) return undefined
  const bars = new Array<number>(steps).fill(0)
  for (const { at, share } of apart) bars[stepOf(at, min, max)]! += share
  const left = 1 - nullShare - apart.reduce((sum, { share }) => sum + share, 0)
  spread(edges, Math.max(0, left), min, max, bars)
  return { ...rangeOf({ type, bounds, common })!, bars }
}

const stepOf = (at: number, min: number, max: number) =>
  Math.min(steps - 1, Math.floor(((at - min) / (max - min)) * steps))

/** Divides the share of each interval among the steps that it covers. */
function spread(edges: readonly number[], share: number, min: number, max: number, bars: number[]): void {
  const width = (max - min) / bars.length
  const each = share / Math.max(1, edges.length - 1)
  for (let at = 0; at + 1 < edges.length; at++) {
    const [from, to] = [edges[at]!, edges[at + 1]!]
    for (let step = 0; step < bars.length; step++) {
      const low = min + step * width
      const inside = Math.min(to, low + width) - Math.max(from, low)
      if (to > from && inside > 0) bars[step]! += (each * inside) / (to - from)
    }
    if (to === from) bars[stepOf(from, min, max)]! += each
  }
}

/** Reads the values of a type as numbers, by the names of PostgreSQL or its short ones. Undefined for other types. */
export function readerFor(type: string): ((text: string) => number) | undefined {
  if (/^(smallint|integer|bigint|numeric|real|double precision|int[248]|float[48])\b/.test(type))
    return Number
  if (type === 'date') return Date.parse
  // PostgreSQL writes whole hours of a zone without minutes.
  if (/^timestamp(tz)?\b/.test(type))
    return (text) => Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'))
  return undefined
}

/**
 * The smallest and the largest known value. Texts and times such as infinity can only be ordered by the database, so
 * their range is that of the bounds.
 */
export function rangeOf({
  bounds,
  common,
  type,
}: Pick<ColumnStatistics, 'bounds' | 'common' | 'type'>): Readonly<{ min: string; max: string }> | undefined {
  const read = readerFor(type)
  const known = [...bounds, ...common.map(({ value }) => value)]
  const isOrdered = read !== undefined && known.every((value) => Number.isFinite(read(value)))
  const sorted = isOrdered ? known.toSorted((a, b) => read(a) - read(b)) : bounds
  return sorted.length === 0 ? undefined : { min: sorted[0]!, max: sorted.at(-1)! }
}
