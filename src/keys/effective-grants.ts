import type { Account } from '../auth/account.ts'
import { adminTarget } from '../postgres/session-target.ts'
import {
  type EffectiveGrants,
  type SchemaGrant,
  type SchemaPermission,
  schemaPermissions,
  type TablePermission,
  tablePermissions,
} from './grants.ts'
import type { KeysContext } from './key.ts'

/** What each role may do at this moment, read from the catalogs of the user's database. Answers a look-up by role. */
export async function effectiveGrants(
  { databases }: KeysContext,
  account: Account,
  roles: readonly string[],
): Promise<(role: string) => EffectiveGrants> {
  if (roles.length === 0) return () => nothing
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  const { rows } = await databases.admin.use(target, (session) =>
    session.look<HeldObject>('grants-of-roles', grantsOfRoles, [roles]),
  )
  const byRole = new Map(roles.map((role) => [role, { tables: [], schemas: [] } as Held]))
  for (const { role, isSchema, schema, name, isOwner, bits } of rows) {
    const held = byRole.get(role)!
    if (isSchema) held.schemas.push({ name, permissions: among(schemaPermissions, bits) })
    else held.tables.push({ schema, name, isOwner, permissions: among(tablePermissions, bits) })
  }
  return (role) => byRole.get(role) ?? nothing
}

type EffectiveTable = EffectiveGrants['tables'][number]
type Held = { tables: EffectiveTable[]; schemas: SchemaGrant[] }

/** A role owns an object, or stands in its access list. */
type HeldObject = Readonly<{
  role: string
  isSchema: boolean
  /** Of a table. */
  schema: string
  name: string
  isOwner: boolean
  /** One for each permission, as in `bitOf`. */
  bits: number
}>

const nothing: EffectiveGrants = { tables: [], schemas: [] }

/** An integer gathers permissions faster than an array without repetitions. */
const bitOf = { insert: 1, select: 2, update: 4, delete: 8, create: 16 } as const satisfies Record<
  Permission,
  number
>

type Permission = TablePermission | SchemaPermission

const among = <P extends Permission>(permissions: readonly P[], bits: number): P[] =>
  permissions.filter((permission) => (bits & bitOf[permission]) !== 0)

const bitOfPrivilege = Object.entries(bitOf)
  .map(([permission, bit]) => `when '${permission.toUpperCase()}' then ${bit}`)
  .join(' ')

// A long list of privileges is stored compressed, and aclexplode would unpack it anew for every row it gives.
const plain = (acl: string) => `${acl} operator(pg_catalog.||) '{}'::aclitem[]`

const isForTenants = `namespace.nspname !~ '^pg_' and namespace.nspname not in ('information_schema', 'cartodb', 'cartage')`

// pg_authid and pg_shdepend are indexed by role, so the cost follows the grants of these roles, not the number of roles or
// the size of the database. An access list has an entry for every role, so each is unpacked once and its entries are looked
// up in a hash of the roles. The planner knows little of all this: OFFSET keeps it from reading all of a catalog,
// IS TRUE from joining instead, and the subselect around $1 from making a plan for each number of roles.
const grantsOfRoles = `
  with role as materialized (
    select found.oid from pg_catalog.unnest((select $1::name[])) wanted (name)
    cross join lateral (select oid from pg_catalog.pg_authid where rolname = wanted.name offset 0) found
  ), mention as materialized (
    select distinct found.classid, found.objid from role
    cross join lateral (
      select * from pg_catalog.pg_shdepend
      where refclassid = 'pg_catalog.pg_authid'::regclass and refobjid = role.oid offset 0
    ) found
    where found.classid in ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_namespace'::regclass)
      and found.objsubid = 0 and found.deptype in ('a', 'o')
      and found.dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
  ), object as (
    select false as is_schema, namespace.nspname as schema, class.relname as name, class.relowner as owner,
      ${plain("coalesce(class.relacl, pg_catalog.acldefault('r', class.relowner))")} as acl
    from mention
    cross join lateral (select * from pg_catalog.pg_class where oid = mention.objid offset 0) class
    join pg_catalog.pg_namespace namespace on namespace.oid = class.relnamespace
    where mention.classid = 'pg_catalog.pg_class'::regclass and ${isForTenants}
      and class.relkind in ('r', 'p', 'v', 'm', 'f') and class.relpersistence <> 't'
    union all
    select true, null, namespace.nspname, namespace.nspowner,
      ${plain("coalesce(namespace.nspacl, pg_catalog.acldefault('n', namespace.nspowner))")}
    from mention join pg_catalog.pg_namespace namespace on namespace.oid = mention.objid
    where mention.classid = 'pg_catalog.pg_namespace'::regclass and ${isForTenants}
  )
  select pg_catalog.pg_get_userbyid(held.role)::text as role, object.is_schema as "isSchema",
    object.schema::text, object.name::text, object.owner = held.role as "isOwner", held.bits
  from object
  cross join lateral (
    select entry.role, pg_catalog.bit_or(entry.bit) as bits from (
      select acl.grantee as role, case acl.privilege_type ${bitOfPrivilege} else 0 end as bit
      from pg_catalog.aclexplode(object.acl) acl
      where acl.grantee between (select pg_catalog.min(oid) from role) and (select pg_catalog.max(oid) from role)
        and (acl.grantee in (select oid from role)) is true
      union all
      select object.owner, 0 where object.owner in (select oid from role) and not object.is_schema
    ) entry
    group by entry.role
  ) held
  where held.bits <> 0 or object.owner = held.role and not object.is_schema
  order by object.schema, object.name`
