import type { ChartColumn, ChartRows } from './read/chart-data.ts'

/** A row as an array in the order of the columns, or as an object. */
export type PlainRow = readonly unknown[] | Readonly<Record<string, unknown>>

/** The rows of a page in the form that the reader needs. */
export function plainRows(columns: readonly ChartColumn[], rows: readonly PlainRow[]): ChartRows {
  const valueIn = (row: PlainRow, column: number) =>
    Array.isArray(row) ? row[column] : (row as Readonly<Record<string, unknown>>)[columns[column]!.name]
  return {
    count: rows.length,
    row: (at, wanted) => wanted.map((column) => asText(valueIn(rows[at]!, column))),
  }
}

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
