import { shownPermissions, type TablePermission } from './grants.ts'

/** Excludes schemas of the service and of PostgreSQL, which cannot be granted. */
const ofTenants = `n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'cartodb', 'cartage', 'postgis', 'topology')`

const kindOf = `case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
  else 'table' end`

const has = (privilege: string) => `pg_catalog.has_table_privilege(c.oid, '${privilege}')`

/** What the asking role holds on a table: all of it, some columns only, or nothing. */
const right = (privilege: string) =>
  privilege === 'delete'
    ? `case when ${has(privilege)} then 'all' else 'none' end as "${privilege}"`
    : `case when ${has(privilege)} then 'all'
  when pg_catalog.has_any_column_privilege(c.oid, '${privilege}') then 'columns' else 'none' end as "${privilege}"`

/** Every table that the asking role could name, with what it may do there. */
export const tableRightsSql = `
select n.nspname as schema, c.relname as name, ${kindOf} as kind,
  pg_catalog.pg_get_userbyid(c.relowner) = current_user as "isOwner",
  ${shownPermissions.map(right).join(',\n  ')}
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and ${ofTenants} and pg_catalog.has_schema_privilege(n.oid, 'usage')
order by n.nspname, c.relname`

/** The schemas in which the asking role may create. */
export const schemaRightsSql = `
select n.nspname as name from pg_catalog.pg_namespace n
where ${ofTenants} and pg_catalog.has_schema_privilege(n.oid, 'create') order by 1`

export type Right = 'all' | 'columns' | 'none'

export type TableRights = Readonly<{
  schema: string
  name: string
  kind: string
  isOwner: boolean
}> &
  Readonly<Record<TablePermission, Right>>

/** Whence a right comes: from the key itself, or because everybody has it. */
export type RightSource = 'own' | 'public'
export type KnownRight = Readonly<{ right: Exclude<Right, 'none'>; source: RightSource }>
export type KnownTable = Pick<TableRights, 'schema' | 'name' | 'kind' | 'isOwner'> &
  Readonly<{ rights: Readonly<Partial<Record<TablePermission, KnownRight>>> }>

/** Compares what a key was granted with what was granted to PUBLIC. */
export function knownRights(
  tables: readonly TableRights[],
  publicTables: readonly TableRights[],
): readonly KnownTable[] {
  const publicly = new Map(publicTables.map((table) => [nameOf(table), table]))
  return tables.map((table) => withSources(table, publicly.get(nameOf(table))))
}

const nameOf = ({ schema, name }: TableRights) => JSON.stringify([schema, name])

function withSources(table: TableRights, publicly: TableRights | undefined): KnownTable {
  const { schema, name, kind, isOwner } = table
  const rights: Partial<Record<TablePermission, KnownRight>> = {}
  for (const permission of shownPermissions) {
    const right = table[permission]
    if (right === 'none') continue
    rights[permission] = { right, source: publicly?.[permission] === right ? 'public' : 'own' }
  }
  return { schema, name, kind, isOwner, rights }
}
