import type { ResultColumn, ResultOrder, ResultRow } from '../worker/protocol.ts'

/** The next order after a press on a column head: ascending, descending, as in the query. */
export function nextOrder(order: ResultOrder | undefined, column: number): ResultOrder | undefined {
  if (order?.column !== column) return { column, isDescending: false }
  return order.isDescending ? undefined : { column, isDescending: true }
}

/** Sorts numbers by value, texts as people read them, `item 9` before `item 10`. NULL is last in both directions. */
export function sortedRows(
  columns: readonly ResultColumn[],
  rows: readonly ResultRow[],
  order: ResultOrder | undefined,
): readonly ResultRow[] {
  if (!order || order.column >= columns.length) return rows
  const { column, isDescending } = order
  const { type } = columns[column]!
  const compare = type === 'number' ? compareNumbers : type === 'date' ? compareTimes : compareTexts
  const sign = isDescending ? -1 : 1
  return rows.toSorted((a, b) => {
    const [one, other] = [a[column] ?? null, b[column] ?? null]
    if (one === null || other === null) return Number(one === null) - Number(other === null)
    return sign * compare(one, other)
  })
}

/** Times are compared as ISO 8601, with fractions of seconds of any length. */
const compareTimes = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

const compareTexts = new Intl.Collator(undefined, { numeric: true }).compare

/** Digits beyond JavaScript's numbers count; NaN is above all numbers, as in PostgreSQL. */
function compareNumbers(one: string, other: string): number {
  const [a, b] = [Number(one), Number(other)]
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  if (a !== b) return a - b
  return one === other || !isWhole(one) || !isWhole(other) ? 0 : Number(BigInt(one) - BigInt(other))
}

const isWhole = (text: string) => /^-?\d+$/.test(text)
