import { commonStep, edgesOf, timeSteps } from './time-steps.ts'

/** Ranges between edges; a value at an edge is in the range above it. `note` says how wide they are. */
export type Ranges = Readonly<{ edges: Float64Array; note: string | undefined }>

/** Ranges of time: a day, a week, a month. No note if all times of each range are the same. */
export function timeRanges(times: readonly number[], most: number): Ranges {
  const [first, last] = extent(times)
  const common = commonStep(times)
  for (const step of timeSteps.slice(timeSteps.indexOf(common))) {
    const edges = edgesOf(step, first, last, most)
    if (edges)
      return {
        edges: Float64Array.from(edges),
        note: step === common ? undefined : `By ${step.name}, in UTC.`,
      }
  }
  return { edges: Float64Array.of(first, last + 1), note: undefined }
}

/** Ranges of numbers whose width is 1, 2 or 5 times a power of ten. */
export function numberRanges(numbers: readonly number[], most: number): Ranges {
  const [first, last] = extent(numbers)
  const least = numbers.every(Number.isInteger) ? 1 : 0
  // Numbers have 15 digits: narrower ranges would have no width.
  const finest = Math.max(Math.abs(first), Math.abs(last)) * 1e-12
  let width = niceStep(Math.max((last - first) / most, least, finest) || 1)
  while (countOf(first, last, width) > most) width = niceStep(width * 1.5)
  const begin = Math.floor(first / width)
  const edges = Float64Array.from(
    { length: countOf(first, last, width) + 1 },
    (_, at) => +((begin + at) * width).toPrecision(12),
  )
  return { edges, note: `Ranges of ${width.toLocaleString('en-US', { maximumSignificantDigits: 6 })}.` }
}

const countOf = (first: number, last: number, width: number) =>
  Math.floor(last / width) - Math.floor(first / width) + 1

/** The smallest of 1, 2, 5, 10, 20, ... that is not below `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  const factor = [1, 2, 5, 10].find((each) => each * power >= least * 0.999_999) ?? 10
  return factor * power
}

/** The range that each value is in. */
export function rangeOf(edges: Float64Array, value: number): number {
  let [low, high] = [0, edges.length - 2]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (edges[middle]! <= value) low = middle
    else high = middle - 1
  }
  return low
}

export function extent(values: ArrayLike<number>): [number, number] {
  let [least, largest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!
    if (value < least) least = value
    if (value > largest) largest = value
  }
  return [least, largest]
}
