/** How numbers are divided into classes. */
export const methods = ['quantiles', 'equal', 'natural'] as const
export type Method = (typeof methods)[number]

/** The upper bounds of all but the last class; fewer if there are not enough values. */
export function breaksOf(values: readonly number[], method: Method, count: number): readonly number[] {
  const sorted = Float64Array.from(values.filter(Number.isFinite)).sort()
  if (sorted.length === 0) return []
  const [least, most] = [sorted[0]!, sorted.at(-1)!]
  const found = {
    quantiles: () => inner(count, (share) => sorted[Math.floor(share * sorted.length)]!),
    equal: () => inner(count, (share) => least + (most - least) * share),
    natural: () => naturalBreaks(thinned(sorted, mostCompared), count),
  }[method]()
  // A class below the smallest value would be empty.
  return [...new Set(found.map(neat))].filter((bound) => bound > least && bound <= most)
}

const inner = (count: number, at: (share: number) => number) =>
  Array.from({ length: count - 1 }, (_, index) => at((index + 1) / count))

/** Six digits are enough for a legend. */
const neat = (value: number) => Number(value.toPrecision(6))

/** The work grows with the square of the values. */
const mostCompared = 500

function thinned(sorted: Float64Array, most: number): readonly number[] {
  if (sorted.length <= most) return [...sorted]
  return Array.from({ length: most }, (_, at) => sorted[Math.round((at * (sorted.length - 1)) / (most - 1))]!)
}

/** Fisher's exact division: the sum of the squared deviations within the classes is minimal. */
function naturalBreaks(sorted: readonly number[], count: number): readonly number[] {
  const length = sorted.length
  const classes = Math.min(count, new Set(sorted).size)
  const sums = [0]
  const squares = [0]
  for (const value of sorted) {
    sums.push(sums.at(-1)! + value)
    squares.push(squares.at(-1)! + value * value)
  }
  const deviation = (from: number, to: number) =>
    squares[to]! - squares[from]! - (sums[to]! - sums[from]!) ** 2 / (to - from)
  let best = Array.from({ length: length + 1 }, (_, to) => (to === 0 ? 0 : deviation(0, to)))
  const starts: number[][] = []
  for (let each = 2; each <= classes; each++) {
    const former = best
    const start = new Array<number>(length + 1).fill(each - 1)
    best = former.map((_, to) => {
      let least = Number.POSITIVE_INFINITY
      for (let from = each - 1; from < to; from++) {
        const sum = former[from]! + deviation(from, to)
        if (sum < least) [least, start[to]] = [sum, from]
      }
      return to < each ? Number.POSITIVE_INFINITY : least
    })
    starts.push(start)
  }
  const found: number[] = []
  for (let to = length, at = starts.length - 1; at >= 0; at--) {
    to = starts[at]![to]!
    found.unshift(sorted[to]!)
  }
  return found
}
