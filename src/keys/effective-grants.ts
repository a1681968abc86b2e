import type { Account } from '../auth/account.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { EffectiveGrants, SchemaGrant } from './grants.ts'
import type { KeysContext } from './key.ts'

/** What each role may do at this moment, read from the catalogs of the user's database. Answers a look-up by role. */
export async function effectiveGrants(
  { databases }: KeysContext,
  account: Account,
  roles: readonly string[],
): Promise<(role: string) => EffectiveGrants> {
  if (roles.length === 0) return () => nothing
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  return databases.admin.use(target, async (session) => {
    const { rows: mentions } = await session.query<Mention>(mentionsOfRoles, [roles])
    const byOid = new Map<number, Held>()
    for (const { roleOid, role } of mentions) byOid.set(roleOid, { role, tables: [], schemas: [] })
    await addTables(session, mentions, byOid)
    await addSchemas(session, mentions, byOid)
    const byRole = new Map([...byOid.values()].map((held) => [held.role, held]))
    return (role) => byRole.get(role) ?? nothing
  })
}

/** A role owns an object, or stands in its access list. */
type Mention = Readonly<{ roleOid: number; role: string; isSchema: boolean; objectOid: number }>

type EffectiveTable = EffectiveGrants['tables'][number]
type Held = { role: string; tables: EffectiveTable[]; schemas: SchemaGrant[] }

const nothing: EffectiveGrants = { tables: [], schemas: [] }

// Both catalogs are indexed by role, so the cost follows the grants of these roles, not the number of roles or the size of
// the database. (OFFSET keeps the planner, which knows little of them, from reading all of one.)
const mentionsOfRoles = `
  select role.oid as "roleOid", role.rolname::text as role, mention.objid as "objectOid",
    mention.classid = 'pg_catalog.pg_namespace'::regclass as "isSchema"
  from pg_catalog.unnest($1::name[]) wanted (role)
  cross join lateral (
    select oid, rolname from pg_catalog.pg_authid where rolname = wanted.role offset 0
  ) role
  cross join lateral (
    select * from pg_catalog.pg_shdepend
    where refclassid = 'pg_catalog.pg_authid'::regclass and refobjid = role.oid
    offset 0
  ) mention
  where mention.classid in ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_namespace'::regclass)
    and mention.objsubid = 0 and mention.deptype in ('a', 'o')
    and mention.dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())`

/** Three plain statements are planned in less time than one that does it all, and most keys do not need the last. */
async function addTables(session: Session, mentions: readonly Mention[], byOid: ByOid): Promise<void> {
  const tables = mentions.filter(({ isSchema }) => !isSchema)
  if (tables.length === 0) return
  const { rows } = await session.query<EffectiveTable & OfRole>(permissionsOnTables, oidsOf(tables))
  for (const { roleOid, ...table } of rows) byOid.get(roleOid)?.tables.push(table)
}

async function addSchemas(session: Session, mentions: readonly Mention[], byOid: ByOid): Promise<void> {
  const schemas = mentions.filter(({ isSchema }) => isSchema)
  if (schemas.length === 0) return
  const { rows } = await session.query<SchemaGrant & OfRole>(permissionsOnSchemas, oidsOf(schemas))
  for (const { roleOid, ...schema } of rows) byOid.get(roleOid)?.schemas.push(schema)
}

type ByOid = ReadonlyMap<number, Held>
type OfRole = Readonly<{ roleOid: number }>

function oidsOf(mentions: readonly Mention[]): [objects: number[], roles: number[]] {
  const [objects, roles] = [new Set<number>(), new Set<number>()]
  for (const { objectOid, roleOid } of mentions) {
    objects.add(objectOid)
    roles.add(roleOid)
  }
  return [[...objects], [...roles]]
}

// A long list of privileges is stored compressed, and aclexplode would unpack it anew for every row it gives.
const plain = (acl: string) => `${acl} operator(pg_catalog.||) '{}'::aclitem[]`

const isForTenants = `namespace.nspname !~ '^pg_' and namespace.nspname not in ('information_schema', 'cartodb', 'cartage')`

const permissionsOnTables = `
  select held.role as "roleOid", namespace.nspname::text as schema, class.relname::text as name,
    class.relowner = held.role as "isOwner",
    coalesce(pg_catalog.array_agg(distinct held.permission) filter (where held.permission is not null), '{}') as permissions
  from pg_catalog.pg_class class
  join pg_catalog.pg_namespace namespace on namespace.oid = class.relnamespace
  cross join lateral (
    select acl.grantee as role, pg_catalog.lower(acl.privilege_type) as permission
    from pg_catalog.aclexplode(${plain("coalesce(class.relacl, pg_catalog.acldefault('r', class.relowner))")}) acl
    where acl.grantee = any($2::oid[]) and acl.privilege_type in ('DELETE', 'INSERT', 'SELECT', 'UPDATE')
    union all
    select class.relowner, null where class.relowner = any($2::oid[])
  ) held
  where class.oid = any($1::oid[])
    and class.relkind in ('r', 'p', 'v', 'm', 'f') and class.relpersistence <> 't' and ${isForTenants}
  group by namespace.nspname, class.relname, class.relowner, held.role
  order by namespace.nspname, class.relname`

const permissionsOnSchemas = `
  select distinct acl.grantee as "roleOid", namespace.nspname::text as name, array['create'] as permissions
  from pg_catalog.pg_namespace namespace
  cross join pg_catalog.aclexplode(${plain("coalesce(namespace.nspacl, pg_catalog.acldefault('n', namespace.nspowner))")}) acl
  where namespace.oid = any($1::oid[]) and acl.grantee = any($2::oid[]) and acl.privilege_type = 'CREATE' and ${isForTenants}
  order by name`
