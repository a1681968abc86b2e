/** The middle half of some numbers, and their middle. */
export type Spread = Readonly<{ low: number; median: number; high: number }>

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  return { low: quantile(sorted, 0.25), median: quantile(sorted, 0.5), high: quantile(sorted, 0.75) }
}

/** The ratios of the pairs, each measured close together in time, so that a slow minute of the machine cancels out. */
export function ratiosOf(candidate: readonly number[], baseline: readonly number[]): readonly number[] {
  return candidate.map((value, round) => value / baseline[round]!)
}

function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return Number.NaN
  const place = (sorted.length - 1) * share
  const [below, above] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
  return below + (above - below) * (place - Math.floor(place))
}
