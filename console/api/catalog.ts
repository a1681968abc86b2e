import { effect, signal } from '@preact/signals'
import { isOpen, knownJobs } from './known-jobs.ts'
import { session } from './session.ts'
import { readRows } from './sql.ts'

/** A table as the key sees it. */
export type CatalogTable = Readonly<{
  schema: string
  name: string
  kind: 'table' | 'view' | 'materialized view' | 'foreign table'
  /** An estimate of PostgreSQL; negative if it has none yet. */
  rows: number
  columns: readonly CatalogColumn[]
}>
export type CatalogColumn = Readonly<{ name: string; type: string }>
export type CatalogFunction = Readonly<{ name: string; arguments: string; result: string }>
/** A function of the account itself, not of PostgreSQL or an extension. */
export type AccountFunction = CatalogFunction & Readonly<{ oid: string; schema: string }>
export type Catalog = Readonly<{
  searchPath: readonly string[]
  tables: readonly CatalogTable[]
  functions: readonly AccountFunction[]
}>

export const unreadCatalog: Catalog = { searchPath: ['public'], tables: [], functions: [] }

/**
 * The tables, columns and functions, for the schema, completion and the palette. Refreshed whenever they may have
 * changed.
 */
export const catalog = signal(unreadCatalog)
/** Why the last read failed. */
export const catalogError = signal<unknown>(undefined)

let reading: Promise<void> | undefined

export function refreshCatalog(): Promise<void> {
  const mine = readCatalog().then(
    (read) => {
      // Only the latest request counts, in whatever order the answers arrive.
      if (reading !== mine) return
      catalogError.value = undefined
      if (hasChanged(read)) catalog.value = read
    },
    // Completion then offers less; the schema shows the error.
    (error: unknown) => {
      if (reading === mine) catalogError.value = error
    },
  )
  reading = mine
  return mine
}

const hasChanged = (read: Catalog) =>
  catalog.peek() === unreadCatalog || JSON.stringify(read) !== JSON.stringify(catalog.peek())

/** Reads the catalog if it was not read yet. */
export const openCatalog = () => reading ?? refreshCatalog()

const channel = new BroadcastChannel('cartage.catalog')

/** Refreshes the catalog here and in the other tabs. */
export function noteCatalogChange(): void {
  channel.postMessage('changed')
  void refreshCatalog()
}

const refreshIfRead = () => void (reading && session.peek() && refreshCatalog())

channel.onmessage = refreshIfRead
// While the tab was hidden, other programs may have changed tables.
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && refreshIfRead())

let endedJobs = 0
effect(() => {
  const ended = knownJobs.value.filter((job) => !isOpen(job)).length
  if (ended > endedJobs) refreshIfRead()
  endedJobs = ended
})

type CatalogRow = Readonly<{
  searchPath: readonly string[] | null
  table: CatalogTable | null
  function: AccountFunction | null
}>

async function readCatalog(): Promise<Catalog> {
  const rows = await readRows<CatalogRow>(catalogSql)
  return {
    searchPath: rows.flatMap(({ searchPath }) => searchPath ?? []),
    tables: rows.flatMap(({ table }) => table ?? []).sort(byName),
    functions: rows.flatMap((row) => row.function ?? []).sort(byName),
  }
}

type Named = Readonly<{ schema: string; name: string; arguments?: string }>

function byName(one: Named, other: Named): number {
  const [first, second] = [one, other].map((each) => [each.schema, each.name, each.arguments ?? ''])
  const at = first!.findIndex((part, place) => part !== second![place])
  return at < 0 ? 0 : first![at]! < second![at]! ? -1 : 1
}

let functions: Promise<readonly CatalogFunction[]> | undefined

/** The functions of PostgreSQL, PostGIS and the account: thousands, so read on demand only. */
export function readFunctions(): Promise<readonly CatalogFunction[]> {
  functions ??= readRows<CatalogFunction>(functionsSql).catch(() => {
    functions = undefined
    return []
  })
  return functions
}

/** The schemas in which the account has objects. `n` is pg_namespace. */
const isOfAccount = `not pg_catalog.starts_with(n.nspname::pg_catalog.text, 'pg_')
      and n.nspname not in ('information_schema', 'cartodb', 'cartage', 'postgis', 'topology')
      and pg_catalog.has_schema_privilege(n.oid, 'usage')`

/** So that one member of an organization cannot make the catalog of the others too large to read. */
const mostOfAKind = 5_000
const mostColumns = 100_000
export const longestText = 500

/** A row for each table and function. The user's own come first: those of others are cut off before them. */
const catalogSql = `
select pg_catalog.current_schemas(false)::pg_catalog.text[] as "searchPath", null::pg_catalog.json as "table", null::pg_catalog.json as "function"
union all
select null, pg_catalog.json_build_object('schema', t.schema, 'name', t.name, 'rows', t.rows, 'kind', t.kind, 'columns',
    (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', a.attname,
       'type', pg_catalog.format_type(a.atttypid, a.atttypmod)) order by a.attnum), '[]') from pg_catalog.pg_attribute a
     where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped)), null
from (
  select c.oid, n.nspname as schema, c.relname as name, c.reltuples::pg_catalog.float8 as rows,
    case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as kind,
    pg_catalog.sum(c.relnatts) over (order by o.other, n.nspname, c.relname rows unbounded preceding) as columns
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  cross join lateral (select cartodb._CDB_IsOfAnotherUser(c.relowner) as other) o
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and ${isOfAccount}
  order by o.other, n.nspname, c.relname limit ${mostOfAKind}
) t where t.columns <= ${mostColumns}::pg_catalog.int8
union all
select null, null, pg_catalog.json_build_object('oid', f.oid, 'schema', f.schema, 'name', f.name,
  'arguments', pg_catalog.left(pg_catalog.pg_get_function_arguments(f.oid), ${longestText}),
  'result', pg_catalog.left(coalesce(pg_catalog.pg_get_function_result(f.oid), ''), ${longestText}))
from (
  select p.oid, n.nspname as schema, p.proname as name
  from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where ${isOfAccount}
    and not exists (select from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid and d.objid = p.oid and d.deptype = 'e')
  order by cartodb._CDB_IsOfAnotherUser(p.proowner), n.nspname, p.proname limit ${mostOfAKind}
) f`

const functionsSql = `
select p.proname as name, pg_catalog.min(pg_catalog.pg_get_function_identity_arguments(p.oid)) as arguments,
  pg_catalog.min(pg_catalog.format_type(p.prorettype, null)) as result
from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where n.nspname operator(pg_catalog.!~) '^pg_t' and n.nspname not in ('information_schema', 'cartage')
  and p.proname operator(pg_catalog.!~) '^(_|pg_|postgis_|geometry_|geography_|gserialized|btarray|.*(in|out|recv|send|sel|joinsel|_support|_transfn|_finalfn)$)'
  and p.prokind in ('f', 'a', 'w') and pg_catalog.format_type(p.prorettype, null) not in ('internal', 'trigger', 'event_trigger', 'cstring')
group by p.proname order by p.proname`
