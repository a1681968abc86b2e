import type { Account } from '../../auth/account.ts'
import {
  type SchemaPermission,
  schemaPermissions,
  type TablePermission,
  tablePermissions,
} from '../../contract/grants.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import type { EffectiveGrants, SchemaGrant } from '../grants.ts'
import type { KeysContext } from '../key.ts'

/** The current rights of each role, read from the catalogs of the user's database. */
export async function effectiveGrants(
  { databases }: KeysContext,
  account: Account,
  roles: readonly string[],
): Promise<ReadonlyMap<string, EffectiveGrants>> {
  if (roles.length === 0) return new Map()
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  const { rows } = await databases.admin.use(target, (session) =>
    session.look<HeldObject>('grants-of-roles', grantsOfRoles, [roles]),
  )
  const byRole = new Map(roles.map((role) => [role, { tables: [], schemas: [] } as Held]))
  for (const object of rows) {
    for (const role in object.bits) hold(byRole.get(role), object, role)
    // The owner of a table may have revoked all its own permissions.
    const { isSchema, owner, bits } = object
    if (!isSchema && !Object.hasOwn(bits, owner)) hold(byRole.get(owner), object, owner)
  }
  return byRole
}

function hold(
  held: Held | undefined,
  { isSchema, schema, name, owner, bits }: HeldObject,
  role: string,
): void {
  const permitted = bits[role] ?? 0
  if (isSchema) held?.schemas.push({ name, permissions: among(schemaPermissions, permitted) })
  else {
    const permissions = among(tablePermissions, permitted)
    held?.tables.push({ schema, name, isOwner: role === owner, permissions })
  }
}

type EffectiveTable = EffectiveGrants['tables'][number]
type Held = { tables: EffectiveTable[]; schemas: SchemaGrant[] }

/** A table or schema that one of the roles owns, or whose access list names one of them. */
type HeldObject = Readonly<{
  isSchema: boolean
  /** For a table. */
  schema: string
  name: string
  owner: string
  /** For each role with a permission: a bit for each, as in `bitOf`. */
  bits: Readonly<Record<string, number>>
}>

/** PostgreSQL collects bits in an integer faster than distinct values in an array. */
const bitOf = { insert: 1, select: 2, update: 4, delete: 8, create: 16 } as const satisfies Record<
  Permission,
  number
>

type Permission = TablePermission | SchemaPermission

const among = <P extends Permission>(permissions: readonly P[], bits: number): P[] =>
  permissions.filter((permission) => (bits & bitOf[permission]) !== 0)

const privileges = Object.keys(bitOf).map((permission) => `'${permission.toUpperCase()}'`)

const bitOfPrivilege = Object.values(bitOf)
  .map((bit, place) => `when ${privileges[place]} then ${bit}`)
  .join(' ')

// A long access list is stored compressed, and aclexplode would unpack it again for every row it returns.
const plain = (acl: string) => `${acl} operator(pg_catalog.||) '{}'::aclitem[]`

const isForTenants = `namespace.nspname !~ '^pg_' and namespace.nspname not in ('information_schema', 'cartodb', 'cartage')`

// pg_shdepend is indexed by role, so the cost depends on the grants of these roles, not on the number of roles or the
// size of the database. An access list has an entry for every role, so each list is unpacked once and its entries are
// looked up in a hash of the roles. The planner cannot know this: OFFSET keeps it from reading a whole catalog, IS TRUE
// from using a join, and the subselect around $1 from making a plan for each number of roles.
const grantsOfRoles = `
  with role as materialized (
    select pg_catalog.to_regrole(pg_catalog.quote_ident(name))::oid as oid
    from pg_catalog.unnest((select $1::text[])) name
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
  select object.is_schema as "isSchema", object.schema::text, object.name::text,
    pg_catalog.pg_get_userbyid(object.owner)::text as owner, held.bits
  from object
  cross join lateral (
    select coalesce(pg_catalog.json_object_agg(pg_catalog.pg_get_userbyid(holder.role), holder.bits), '{}') as bits
    from (
      select acl.grantee as role, pg_catalog.bit_or(case acl.privilege_type ${bitOfPrivilege} end) as bits
      from pg_catalog.aclexplode(object.acl) acl
      where acl.grantee between (select pg_catalog.min(oid) from role) and (select pg_catalog.max(oid) from role)
        and (acl.grantee in (select oid from role)) is true and acl.privilege_type in (${privileges.join()})
      group by acl.grantee
    ) holder
  ) held
  order by object.schema, object.name`
