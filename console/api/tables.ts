import { maxPerPage } from '../../src/contract/limits.ts'
import type { Privacy } from '../../src/contract/table-names.ts'
import { requestJson } from './request.ts'
import { quoteLiteral, quoteName, readRows, shownName } from './sql.ts'

export type TableKind = 'table' | 'view' | 'materialized view' | 'foreign table'
export type TableId = Readonly<{ schema: string; name: string }>

/** A table as the key sees it. */
export type Table = TableId &
  Readonly<{
    kind: TableKind
    /** An estimate of PostgreSQL; negative if it has none yet. */
    rows: number
    bytes: number
    /** The type of its first geometry. */
    geometry: string | null
    isPrepared: boolean
    isOwned: boolean
    /** Owned by another user of the database: reading it may run that user's code. */
    isOfAnother: boolean
    /** The columns of its primary key. */
    primaryKey: readonly string[] | null
    /** Its rows are in partitions or in inheriting tables. */
    hasParts: boolean
    /**
     * For some of its columns. Like the next two, only if the key may read all of it, the versions of rows included.
     */
    canUpdate: boolean
    canInsert: boolean
    canDelete: boolean
    comment: string | null
    /** Known only for a table that is prepared for maps. */
    changedAt: string | null
    /** Known only for a table in the account's own schema. */
    privacy?: Privacy
  }>

export async function readTables(signal: AbortSignal): Promise<readonly Table[]> {
  const [tables, known] = await Promise.all([
    readRows<Table>(tablesSql, { signal }),
    readVisualizations(signal),
  ])
  const privacies = new Map(
    known.map(({ table, name, privacy }) => [JSON.stringify([table.schema, name]), privacy]),
  )
  return tables.map((table) => {
    const privacy = privacies.get(JSON.stringify([table.schema, table.name]))
    return privacy ? { ...table, privacy } : table
  })
}

type Visualization = Readonly<{
  name: string
  privacy: Privacy
  table: Readonly<{ schema: string }>
}>

async function readVisualizations(signal: AbortSignal): Promise<readonly Visualization[]> {
  const found: Visualization[] = []
  for (let page = 1; ; page++) {
    const query = { type: 'table', order: 'name', order_direction: 'asc', per_page: maxPerPage, page }
    const answer = await requestJson<{ visualizations: Visualization[] }>('listTables', { query, signal })
    found.push(...answer.visualizations)
    if (answer.visualizations.length < maxPerPage) return found
  }
}

export const changePrivacy = (name: string, privacy: Privacy) =>
  requestJson('changePrivacy', { parameters: { table: name }, json: { privacy } })

export type TableColumn = Readonly<{
  name: string
  type: string
  isNullable: boolean
  fallback: string | null
  comment: string | null
  /** Its value is computed and cannot be set. */
  isGenerated: boolean
  canUpdate: boolean
  /** All values of an enum. */
  values: readonly string[] | null
}>
/** An index or a constraint. */
export type TableRule = Readonly<{ name: string; kind: string; definition: string; bytes: number | null }>

export const readColumns = (table: TableId, signal: AbortSignal) =>
  readRows<TableColumn>(columnsSql(table), { signal })
export const readRules = (table: TableId, signal: AbortSignal) =>
  readRows<TableRule>(rulesSql(table), { signal })

/** The quoted name, for SQL. */
export const quotedTable = ({ schema, name }: TableId) => `${quoteName(schema)}.${quoteName(name)}`

/** The name as shown: without the schema if that is `public`. */
export const shownTable = ({ schema, name }: TableId) =>
  schema === 'public' ? shownName(name) : `${shownName(schema)}.${shownName(name)}`

const tablesSql = `
select n.nspname as schema, c.relname as name, c.reltuples as rows, pg_catalog.pg_total_relation_size(c.oid) as bytes,
  case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as kind,
  (select pg_catalog.format_type(a.atttypid, a.atttypmod) from pg_catalog.pg_attribute a
    join pg_catalog.pg_type t on t.oid = a.atttypid
    where a.attrelid = c.oid and t.typname = 'geometry' and not a.attisdropped order by a.attname <> 'the_geom', a.attnum limit 1) as geometry,
  exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname = 'the_geom_webmercator'
    and not a.attisdropped) as "isPrepared",
  pg_catalog.pg_has_role(c.relowner, 'member') as "isOwned",
  cartodb._CDB_IsOfAnotherUser(c.relowner) as "isOfAnother", pg_catalog.obj_description(c.oid, 'pg_class') as comment,
  (select pg_catalog.array_agg(a.attname::pg_catalog.text order by pg_catalog.array_position(x.indkey::pg_catalog.int2[], a.attnum))
    from pg_catalog.pg_index x join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = any (x.indkey::pg_catalog.int2[])
    where x.indrelid = c.oid and x.indisprimary) as "primaryKey",
  c.relkind = 'p' or c.relhassubclass as "hasParts", s.can and pg_catalog.has_any_column_privilege(c.oid, 'update') as "canUpdate",
  s.can and pg_catalog.has_table_privilege(c.oid, 'insert') as "canInsert", s.can and pg_catalog.has_table_privilege(c.oid, 'delete') as "canDelete",
  m.updated_at as "changedAt"
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
cross join lateral (select pg_catalog.has_table_privilege(c.oid, 'select') as can) s
left join cartodb.CDB_TableMetadata m on m.tabname::pg_catalog.oid = c.oid
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition and n.nspname operator(pg_catalog.!~) '^pg_'
  and n.nspname not in ('information_schema', 'cartodb', 'cartage', 'postgis', 'topology')
  and pg_catalog.has_schema_privilege(n.oid, 'usage')
  and (pg_catalog.has_table_privilege(c.oid, 'select, insert, update, delete')
    or pg_catalog.has_any_column_privilege(c.oid, 'select, insert, update'))
order by n.nspname, c.relname`

/** As an oid: `oid = regclass` would call an operator created by a user. */
export const oidOf = (table: TableId) =>
  `${quoteLiteral(quotedTable(table))}::pg_catalog.regclass::pg_catalog.oid`

const columnsSql = (table: TableId) => `
select a.attname as name, pg_catalog.format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as "isNullable",
  coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), case when a.attidentity <> '' then 'identity' end) as fallback,
  pg_catalog.col_description(a.attrelid, a.attnum) as comment,
  a.attgenerated <> '' or a.attidentity = 'a' as "isGenerated", pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'update') as "canUpdate",
  (select pg_catalog.array_agg(e.enumlabel::pg_catalog.text order by e.enumsortorder) from pg_catalog.pg_enum e
    where e.enumtypid = a.atttypid) as values
from pg_catalog.pg_attribute a left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = ${oidOf(table)} and a.attnum > 0 and not a.attisdropped order by a.attnum`

const rulesSql = (table: TableId) => `
select i.relname as name, 'index' as kind, pg_catalog.pg_get_indexdef(i.oid) as definition,
  pg_catalog.pg_relation_size(i.oid) as bytes
from pg_catalog.pg_index x join pg_catalog.pg_class i on i.oid = x.indexrelid where x.indrelid = ${oidOf(table)}
union all
select conname, case contype when 'p' then 'primary key' when 'f' then 'foreign key' when 'u' then 'unique' when 'c' then 'check'
  else 'constraint' end, pg_catalog.pg_get_constraintdef(oid), null
from pg_catalog.pg_constraint where conrelid = ${oidOf(table)} order by 2, 1`
