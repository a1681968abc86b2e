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

function numericClasses(values: readonly (string | null)[]): Classes {
  const numbers = Float64Array.from(
    values.filter((value) => value !== null),
    Number,
  ).sort()
  const at = (share: number) => numbers[Math.min(numbers.length - 1, Math.floor(share * numbers.length))] ?? 0
  const breaks = [
    ...new Set(Array.from({ length: classCount - 1 }, (_, index) => at((index + 1) / classCount))),
  ]
  const labels = [...breaks, numbers.at(-1) ?? 0].map((upper, index) =>
    index === 0 ? `below ${short(upper)}` : `${short(breaks[index - 1]!)} to ${short(upper)}`,
  )
  return { isNumeric: true, breaks, labels }
}

/** Thousands separators from five digits on, so that years have none. */
const { format: short } = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6, useGrouping: 'min2' })

function categories(values: readonly (string | null)[]): Classes {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value ?? 'NULL', (counts.get(value ?? 'NULL') ?? 0) + 1)
  const frequent = [...counts].sort((one, other) => other[1] - one[1]).slice(0, mostCategories)
  const breaks = frequent.map(([name]) => name)
  return { isNumeric: false, breaks, labels: counts.size > mostCategories ? [...breaks, 'other'] : breaks }
}
