/** The classes of a legend: their labels, and which values belong to which. */
export type Classes = Readonly<{
  isNumeric: boolean
  /** The upper bounds of all but the last class, or the categories. */
  breaks: readonly (number | string)[]
  labels: readonly string[]
}>

const classCount = 5
const mostCategories = 8

/** Five classes of about equal size for numbers, or the most frequent categories and "other". */
export function classify(values: readonly (string | null)[], isNumeric: boolean): Classes {
  return isNumeric ? numericClasses(values) : categories(values)
}

/** The label of NULL in the legend. */
export const nullLabel = 'NULL'

function numericClasses(values: readonly (string | null)[]): Classes {
  const numbers = Float64Array.from(
    values.filter((value) => value !== null),
    Number,
  ).sort()
  const at = (share: number) => numbers[Math.min(numbers.length - 1, Math.floor(share * numbers.length))] ?? 0
  const breaks = [
    ...new Set(Array.from({ length: classCount - 1 }, (_, index) => at((index + 1) / classCount))),
  ]
  const { format } = formatOf(breaks)
  const labels = breaks.map((upper, at) =>
    at === 0 ? `below ${format(upper)}` : `${format(breaks[at - 1]!)} to ${format(upper)}`,
  )
  labels.push(`${format(breaks.at(-1)!)} or more`)
  return { isNumeric: true, breaks, labels: numbers.length < values.length ? [...labels, nullLabel] : labels }
}

/** One format for all numbers of a legend: as many decimals as distinguish its bounds. Years have no separators. */
function formatOf(bounds: readonly number[]): Intl.NumberFormat {
  const isWhole = bounds.every(Number.isInteger)
  const gaps = bounds.slice(1).map((bound, at) => bound - bounds[at]!)
  const gap = Math.min(...gaps.filter((each) => each > 0))
  const decimals = isWhole || !Number.isFinite(gap) ? 0 : Math.max(0, Math.ceil(-Math.log10(gap)) + 1)
  const isExtreme = decimals > 6 || bounds.some((bound) => Math.abs(bound) >= 1e15)
  if (isExtreme) return new Intl.NumberFormat('en-US', { notation: 'scientific', minimumFractionDigits: 3 })
  const areYears = isWhole && bounds.every((bound) => bound >= 1000 && bound < 3000)
  return new Intl.NumberFormat('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
    useGrouping: !areYears,
  })
}

function categories(values: readonly (string | null)[]): Classes {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value ?? nullLabel, (counts.get(value ?? nullLabel) ?? 0) + 1)
  const frequent = [...counts].sort((one, other) => other[1] - one[1]).slice(0, mostCategories)
  const breaks = frequent.map(([name]) => name)
  return { isNumeric: false, breaks, labels: counts.size > mostCategories ? [...breaks, 'other'] : breaks }
}
