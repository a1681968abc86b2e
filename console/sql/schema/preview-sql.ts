import {
  type AccountFunction,
  type CatalogColumn,
  type CatalogTable,
  longestText,
} from '../../api/catalog.ts'
import { quoteLiteral, quoteName, readRows } from '../../api/sql.ts'
import { quotedTable, type TableId } from '../../api/tables.ts'

export type TableFacts = Readonly<{
  bytes: number
  comment: string | null
  /** Reading it may run that user's code. */
  isOfAnother: boolean
}>

export type ColumnFacts = Readonly<{ isNullable: boolean; fallback: string | null; comment: string | null }>

/** The first values of a column, as texts; null is NULL. */
export type FirstValues = readonly (string | null)[]

const mostValues = 3
/** Columns of a table whose values are shown. */
export const mostColumns = 30
const longestValue = 60

export const readTableFacts = async (table: TableId, signal: AbortSignal) =>
  (await readRows<TableFacts>(tableFactsSql(table), { signal }))[0]

export const readColumnFacts = async (table: TableId, column: string, signal: AbortSignal) =>
  (await readRows<ColumnFacts>(columnFactsSql(table, column), { signal }))[0]

export const readFunctionComment = async (of: AccountFunction, signal: AbortSignal) =>
  (await readRows<{ comment: string | null }>(functionCommentSql(of), { signal }))[0]?.comment

/** The values of the first rows, column by column. */
export async function readFirstValues(
  table: CatalogTable,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, FirstValues>> {
  const columns = previewedColumns(table)
  if (columns.length === 0) return new Map()
  const rows = await readRows<{ values: FirstValues }>(firstRowsSql(table, columns), { signal })
  return new Map(columns.map(({ name }, at) => [name, rows.map(({ values }) => values[at] ?? null)]))
}

/** A view may be slow and a foreign table far away: their rows are not read without a request. */
export const isPreviewed = ({ kind }: CatalogTable) => kind === 'table' || kind === 'materialized view'

/** The text of a geometry or of bytes is hex, which is not readable. */
export const previewedColumns = ({ columns }: CatalogTable) =>
  columns.filter(({ type }) => !/^(geometry|geography|raster|bytea)\b/.test(type)).slice(0, mostColumns)

/** As an oid: `oid = regclass` would call an operator created by a user. */
const oidOf = (table: TableId) => `${quoteLiteral(quotedTable(table))}::pg_catalog.regclass::pg_catalog.oid`

const cut = (text: string) => `pg_catalog.left(${text}, ${longestText})`

const tableFactsSql = (table: TableId) => `
select pg_catalog.pg_total_relation_size(c.oid) as bytes, ${cut("pg_catalog.obj_description(c.oid, 'pg_class')")} as comment,
  cartodb._CDB_IsOfAnotherUser(c.relowner) as "isOfAnother"
from pg_catalog.pg_class c where c.oid = ${oidOf(table)}`

const columnFactsSql = (table: TableId, column: string) => `
select not a.attnotnull as "isNullable", ${cut('pg_catalog.pg_get_expr(d.adbin, d.adrelid)')} as fallback,
  ${cut('pg_catalog.col_description(a.attrelid, a.attnum)')} as comment
from pg_catalog.pg_attribute a left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = ${oidOf(table)} and a.attname = ${quoteLiteral(column)}`

const functionCommentSql = ({ oid }: AccountFunction) =>
  `select ${cut(`pg_catalog.obj_description(${quoteLiteral(oid)}::pg_catalog.oid, 'pg_proc')`)} as comment`

const firstRowsSql = (table: TableId, columns: readonly CatalogColumn[]) => `
select array[${columns.map(shortText).join(', ')}]::pg_catalog.text[] as values
from ${quotedTable(table)} limit ${mostValues}`

/** A large value is not read, only its type is shown. */
function shortText({ name, type }: CatalogColumn): string {
  const column = quoteName(name)
  // A cast may be another user's code; `format` calls the type's output function, which is not. For boolean that gives
  // `t`.
  const text = type === 'boolean' ? `${column}::pg_catalog.text` : `pg_catalog.format('%s', ${column})`
  return `case when ${column} is null then null when pg_catalog.pg_column_size(${column}) > 8000 then '(long)'
  else pg_catalog.left(${text}, ${longestValue}) end`
}
