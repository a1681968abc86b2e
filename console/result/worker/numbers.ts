import type { NumberColumns } from './protocol.ts'
import type { StoredRows } from './stored-rows.ts'

/** Columns as numbers, with rows skipped if there are more than `most`. Times are seconds since 1970. */
export function readNumbers(stored: StoredRows, columns: readonly number[], most: number): NumberColumns {
  const step = Math.max(1, Math.ceil(stored.count / most))
  const count = Math.ceil(stored.count / step)
  const read = (column: number) => {
    const { type } = stored.columns[column]!
    return Float64Array.from({ length: count }, (_, at) => numberOf(stored.cell(at * step, column), type))
  }
  return { columns: columns.map(read), step }
}

function numberOf(value: string | null, type: string): number {
  if (value === null) return Number.NaN
  if (type === 'date') return Date.parse(value) / 1000
  return Number(value)
}
