import type { Group, Groups, WantedGroups } from './protocol.ts'
import { shownTime } from './shown-cell.ts'
import type { StoredRows } from './stored-rows.ts'

type Sums = { count: number; numbers: number; sum: number; least: number; largest: number }

/** Groups all rows by the value of a column, and measures each group. */
export function readGroups(stored: StoredRows, { by, of, measure, order, most }: WantedGroups): Groups {
  const found = new Map<string | null, Sums>()
  for (let row = 0; row < stored.count; row++) {
    const values = stored.wholeRow(row)
    const sums = sumsOf(found, values[by] ?? null)
    sums.count++
    const value = of === null ? null : (values[of] ?? null)
    if (value !== null) add(sums, Number(value))
  }
  const { type, pgtype } = stored.columns[by]!
  const shown = (value: string) => (type === 'date' ? shownTime(value, pgtype) : value)
  const groups = [...found].map(
    ([value, sums]): Group => ({
      value,
      label: value === null ? null : shown(value),
      measured: measures[measure](sums),
    }),
  )
  if (order !== 'as in the result') groups.sort(orders[order])
  return { groups: groups.slice(0, most), total: groups.length }
}

function sumsOf(found: Map<string | null, Sums>, value: string | null): Sums {
  const known = found.get(value)
  if (known) return known
  const made = {
    count: 0,
    numbers: 0,
    sum: 0,
    least: Number.POSITIVE_INFINITY,
    largest: Number.NEGATIVE_INFINITY,
  }
  found.set(value, made)
  return made
}

function add(sums: Sums, value: number): void {
  if (Number.isNaN(value)) return
  sums.numbers++
  sums.sum += value
  sums.least = Math.min(sums.least, value)
  sums.largest = Math.max(sums.largest, value)
}

const ofNumbers = (read: (sums: Sums) => number) => (sums: Sums) => (sums.numbers === 0 ? null : read(sums))

const measures: Readonly<Record<WantedGroups['measure'], (sums: Sums) => number | null>> = {
  count: ({ count }) => count,
  sum: ofNumbers(({ sum }) => sum),
  average: ofNumbers(({ sum, numbers }) => sum / numbers),
  minimum: ofNumbers(({ least }) => least),
  maximum: ofNumbers(({ largest }) => largest),
}

const byName = new Intl.Collator('en', { numeric: true })

/** Groups without a measured value come last. */
const orders = {
  'largest first': (one: Group, other: Group) =>
    (other.measured ?? Number.NEGATIVE_INFINITY) - (one.measured ?? Number.NEGATIVE_INFINITY) || 0,
  'by name': (one: Group, other: Group) => byName.compare(one.value ?? '\uffff', other.value ?? '\uffff'),
}
