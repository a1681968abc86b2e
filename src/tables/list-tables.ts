import { masterTargetOf, type Principal } from '../auth/account.ts'
import type { Config } from '../config/config.ts'
import type { SortOrder } from '../contract/formats.ts'
import type { TableOrder } from '../contract/table-names.ts'
import type { Databases } from '../postgres/databases.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import { askCatalogAs } from '../statements/ask-catalog.ts'
import { catalogLimits } from '../statements/time-limits.ts'

export type TableKind = 'table' | 'view' | 'matview'

/** A table of the account's schema, as far as the calling key may see it. */
export type TableInfo = Readonly<{
  schema: string
  name: string
  kind: TableKind
  /** Readable without a key: all of it, some columns, or a partition. */
  isPublic: boolean
  isWritable: boolean
  isPrepared: boolean
  hasGeometry: boolean
  updatedAt: Date | null
  bytes: number
  /** Null: PostgreSQL has not counted them yet, or never does, as for a view. */
  estimatedRows: number | null
}>

export type TableFilter = Readonly<{
  name?: string
  /** From 1. */
  page: number
  perPage: number
  order: TableOrder
  direction: SortOrder
}>

/** What all listings of a process share. */
export type Tables = Readonly<{ databases: Databases; config: Config }>

/**
 * Tables, views and foreign tables in the account's schema: all of them for the master key and for keys with
 * `table_metadata`, for others those on which they have any right.
 */
export async function listTables(
  { databases, config }: Tables,
  principal: Principal,
  filter: TableFilter,
  gone: AbortLike,
): Promise<Readonly<{ total: number; tables: readonly TableInfo[] }>> {
  const { account, key } = principal
  const target = key.hasTableMetadata ? masterTargetOf(account) : undefined
  const options = { limits: catalogLimits(config, principal), gone, ...(target && { target }) }
  const rows = await askCatalogAs<TableRow>(databases, principal, options, listingSql(filter), [
    account.schema,
    account.publicRole,
    key.role,
    filter.name ?? null,
    filter.perPage,
    filter.page,
  ])
  return {
    total: Number(rows[0]?.total ?? 0),
    tables: rows.filter(({ name }) => name !== null).map(readTable),
  }
}

/** One row per table of the page, or a single one without a name if the page is empty; each with the total. */
function listingSql({ order, direction }: TableFilter): string {
  return `
    with listed as (${tablesSql}),
      page as (select * from listed order by ${order} ${direction} nulls last, name
        limit $5 offset ($6::bigint - 1) * $5::bigint)
    select page.*, (select pg_catalog.count(*) from listed) as total
    from (values (1)) one left join page on true
    order by ${order} ${direction} nulls last, name`
}

const tablesSql = `
  select n.nspname as schema, c.relname as name, c.relkind as kind,
    cartodb._CDB_IsReadable(c.oid, $2) as is_public,
    pg_catalog.has_table_privilege($3, c.oid, 'UPDATE') as is_writable,
    exists (select from pg_catalog.pg_attribute a
      where a.attrelid = c.oid and a.attname = 'the_geom_webmercator' and not a.attisdropped) as is_prepared,
    exists (select from pg_catalog.pg_attribute a
      where a.attrelid = c.oid and a.attname = 'the_geom' and not a.attisdropped) as has_geometry,
    m.updated_at, cartodb._CDB_StoredBytes(c.oid) as bytes,
    case when c.reltuples > 0 or c.reltuples = 0 and c.relkind in ('r', 'm') then c.reltuples end as estimated_rows
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  left join cartodb.CDB_TableMetadata m on m.tabname = c.oid
  where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and ($4::text is null or c.relname = $4)
    and (pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE')
      or pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE'))
    and not exists (select from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.deptype = 'e')`

type TableRow = {
  schema: string
  name: string
  kind: string
  is_public: boolean
  is_writable: boolean
  is_prepared: boolean
  has_geometry: boolean
  updated_at: Date | null
  bytes: string
  estimated_rows: number | null
  total: string
}

function readTable(row: TableRow): TableInfo {
  return {
    schema: row.schema,
    name: row.name,
    kind: kinds[row.kind] ?? 'table',
    isPublic: row.is_public,
    isWritable: row.is_writable,
    isPrepared: row.is_prepared,
    hasGeometry: row.has_geometry,
    updatedAt: row.updated_at,
    bytes: Number(row.bytes),
    estimatedRows: row.estimated_rows,
  }
}

const kinds: Readonly<Record<string, TableKind>> = { v: 'view', m: 'matview' }
