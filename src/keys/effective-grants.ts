import type { Account } from '../auth/account.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { EffectiveGrants, SchemaGrant, TableGrant } from './grants.ts'
import type { KeysContext } from './key.ts'

type EffectiveTable = TableGrant & Readonly<{ isOwner: boolean }>

/** What each role may do at this moment, read from the catalogs of the user's database. Answers a look-up by role. */
export async function effectiveGrants(
  { databases }: KeysContext,
  account: Account,
  roles: readonly string[],
): Promise<(role: string) => EffectiveGrants> {
  if (roles.length === 0) return () => nothing
  return databases.admin.use(
    adminTarget(databases.hosts, account.hostId, account.database),
    async (session) => {
      const tables = await session.query<EffectiveTable & { role: string }>(tablesOfRoles, [roles])
      const schemas = await session.query<SchemaGrant & { role: string }>(schemasOfRoles, [roles])
      const byRole = new Map(roles.map((role) => [role, { tables: [], schemas: [] } as Growing]))
      for (const { role, ...table } of tables.rows) byRole.get(role)?.tables.push(table)
      for (const { role, ...schema } of schemas.rows) byRole.get(role)?.schemas.push(schema)
      return (role) => byRole.get(role) ?? nothing
    },
  )
}

type Growing = { tables: EffectiveTable[]; schemas: SchemaGrant[] }
const nothing: EffectiveGrants = { tables: [], schemas: [] }

// pg_shdepend is indexed by role, so the cost follows the grants of these roles, not the size of the database. (OFFSET
// keeps the planner, which knows nothing of that catalog, from taking the index by database.)
const objectsOfRoles = (catalog: 'pg_class' | 'pg_namespace') => `
  with roles as (select oid, rolname from pg_catalog.pg_authid where rolname = any($1)),
  mentioned as materialized (
    select distinct mention.objid
    from roles cross join lateral (
      select * from pg_catalog.pg_shdepend
      where refclassid = 'pg_catalog.pg_authid'::regclass and refobjid = roles.oid
      offset 0
    ) mention
    where mention.classid = 'pg_catalog.${catalog}'::regclass and mention.objsubid = 0
      and mention.deptype in ('a', 'o')
      and mention.dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
  )`

// A long list of privileges is stored compressed, and aclexplode would unpack it anew for every row it gives.
const plain = (acl: string) => `${acl} operator(pg_catalog.||) '{}'::aclitem[]`

const tablesOfRoles = `${objectsOfRoles('pg_class')},
  tables as materialized (
    select class.oid, namespace.nspname, class.relname, class.relowner,
      ${plain("coalesce(class.relacl, pg_catalog.acldefault('r', class.relowner))")} as acl
    from mentioned
    join pg_catalog.pg_class class on class.oid = mentioned.objid
    join pg_catalog.pg_namespace namespace on namespace.oid = class.relnamespace
    where class.relkind in ('r', 'p', 'v', 'm', 'f') and class.relpersistence <> 't'
      and namespace.nspname !~ '^pg_' and namespace.nspname not in ('information_schema', 'cartodb', 'cartage')
  ),
  given as (
    select tables.oid, acl.grantee, pg_catalog.array_agg(distinct pg_catalog.lower(acl.privilege_type)) as permissions
    from tables, pg_catalog.aclexplode(tables.acl) acl
    where acl.grantee in (select oid from roles)
      and acl.privilege_type in ('DELETE', 'INSERT', 'SELECT', 'UPDATE')
    group by tables.oid, acl.grantee
  ),
  held as (
    select oid, grantee as role from given
    union
    select oid, relowner from tables where relowner in (select oid from roles)
  )
  select roles.rolname::text as role, tables.nspname::text as schema, tables.relname::text as name,
    tables.relowner = roles.oid as "isOwner", coalesce(given.permissions, '{}') as permissions
  from held
  join roles on roles.oid = held.role
  join tables on tables.oid = held.oid
  left join given on given.oid = held.oid and given.grantee = held.role
  order by tables.nspname, tables.relname`

const schemasOfRoles = `${objectsOfRoles('pg_namespace')}
  select distinct roles.rolname::text as role, namespace.nspname::text as name, array['create'] as permissions
  from mentioned
  join pg_catalog.pg_namespace namespace on namespace.oid = mentioned.objid
  cross join pg_catalog.aclexplode(${plain("coalesce(namespace.nspacl, pg_catalog.acldefault('n', namespace.nspowner))")}) acl
  join roles on roles.oid = acl.grantee
  where acl.privilege_type = 'CREATE'
    and namespace.nspname !~ '^pg_' and namespace.nspname not in ('information_schema', 'cartodb', 'cartage')
  order by role, name`
