import { quoteLiteral, quoteName } from '../../api/sql.ts'
import { quotedTable, type Table, type TableColumn } from '../../api/tables.ts'
import { hasVersions } from './change-rows.ts'
import { versionColumns } from './change-sql.ts'

export type RowFilter = Readonly<{ column: string; operator: FilterOperator; value: string }>

/** Which rows of a table are shown, and in which order. */
export type WantedRows = Readonly<{
  /** A text that any column may contain. */
  find: string
  filters: readonly RowFilter[]
  order: Readonly<{ column: string; isDescending: boolean }> | null
}>

export const allRows: WantedRows = { find: '', filters: [], order: null }
export const isNarrowed = ({ find, filters }: WantedRows) => find !== '' || filters.length > 0

/** A statement in two forms: with parameters to be sent, and with literals for the editor and for COPY. */
export type RowsStatement = Readonly<{
  text: string
  count: string
  params: readonly string[]
  whole: string
  /** The WHERE and ORDER BY of `whole`; empty without them. */
  narrowedBy: string
}>

/** Reads the first of the wanted rows. `whole` has no limit. */
export function statementOfRows(
  table: Table,
  wanted: WantedRows,
  columns: readonly TableColumn[],
  mostRows: number,
): RowsStatement {
  const params: string[] = []
  const place = (value: string) => `$${params.push(value)}`
  const where = conditionOf(wanted, columns, place)
  const from = `from ${quotedTable(table)}`
  const order = orderOf(wanted)
  const versions = hasVersions(table) ? versionColumns : []
  const narrowedBy = `${conditionOf(wanted, columns, quoteLiteral)}${order}`
  return {
    text: `select ${['*', ...versions].join(', ')} ${from}${where}${order || byKey(table, wanted)} limit ${mostRows}`,
    count: `select pg_catalog.count(*) as n ${from}${where}`,
    params,
    whole: `select * ${from}${narrowedBy}`,
    narrowedBy: narrowedBy.trim(),
  }
}

function conditionOf(
  { find, filters }: WantedRows,
  columns: readonly TableColumn[],
  write: (value: string) => string,
): string {
  const all = filters.map((filter) =>
    operators[filter.operator](quoteName(filter.column), () => write(filter.value)),
  )
  if (find !== '') {
    const value = write(find)
    const some = columns.filter(isSearched).map(({ name }) => contains(quoteName(name), value))
    all.push(some.length > 0 ? `(${some.join(' or ')})` : 'false')
  }
  return all.length > 0 ? ` where ${all.join(' and ')}` : ''
}

const orderOf = ({ order }: WantedRows) =>
  order ? ` order by ${quoteName(order.column)}${order.isDescending ? ' desc' : ''}` : ''

/** So that a changed row stays in its place, unless sorting would be slow: a filter may be fast with another index. */
const byKey = ({ primaryKey: key, rows }: Table, wanted: WantedRows) =>
  key && (!isNarrowed(wanted) || rows < mostSorted) ? ` order by ${key.map(quoteName).join(', ')}` : ''

const mostSorted = 100_000

/** The text of a geometry or of bytes is hex, which contains every short text. */
const isSearched = ({ type }: TableColumn) => !/^(geometry|geography|raster|bytea)/.test(type)

const lowered = (text: string) => `pg_catalog.lower(${text}::pg_catalog.text)`
const contains = (column: string, value: string) =>
  `pg_catalog.strpos(${lowered(column)}, ${lowered(value)}) > 0`

type Condition = (column: string, value: () => string) => string
const compared =
  (sign: string): Condition =>
  (column, value) =>
    `${column} ${sign} ${value()}`

const operators = {
  contains: (column, value) => contains(column, value()),
  'starts with': (column, value) => `pg_catalog.starts_with(${lowered(column)}, ${lowered(value())})`,
  '=': compared('='),
  '≠': compared('is distinct from'),
  '<': compared('<'),
  '≤': compared('<='),
  '>': compared('>'),
  '≥': compared('>='),
  'is NULL': (column) => `${column} is null`,
  'is not NULL': (column) => `${column} is not null`,
} satisfies Readonly<Record<string, Condition>> as Readonly<Record<FilterOperator, Condition>>

export type FilterOperator =
  | 'contains'
  | 'starts with'
  | '='
  | '≠'
  | '<'
  | '≤'
  | '>'
  | '≥'
  | 'is NULL'
  | 'is not NULL'

export const needsValue = (operator: FilterOperator) => !operator.endsWith('NULL')

/** The operators that the type of a column has. */
export function operatorsFor(type: string): readonly FilterOperator[] {
  const nulls = ['is NULL', 'is not NULL'] as const
  const order = ['=', '≠', '<', '≤', '>', '≥'] as const
  if (/^(geometry|geography|raster|bytea)/.test(type)) return nulls
  if (/^(json|xml)|\[\]$/.test(type)) return ['contains', ...nulls]
  if (type === 'boolean') return ['=', '≠', ...nulls]
  if (/^(smallint|integer|bigint|numeric|real|double|date|time|interval)/.test(type)) {
    return [...order, ...nulls, 'contains']
  }
  return ['contains', 'starts with', ...order, ...nulls]
}
