import type { Account } from '../../auth/account.ts'
import { quoteName } from '../../contract/text/quote.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { createTenantDatabase } from '../../hosts/tenant-databases.ts'
import type { Databases } from '../../postgres/databases.ts'
import { passwordClause } from '../../postgres/password-clause.ts'
import type { Session } from '../../postgres/session.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { masterRoleOfKey } from '../../postgres/tenant-names.ts'
import { admitToDatabase, createRoles, tenantRoleAttributes } from '../tenant-roles.ts'
import { largeObjectMaker } from './access-lists.ts'
import type { Household } from './household.ts'

/** Refuses a host that has something of these names: it would be overwritten. */
export async function requireFreePlace(
  { databases: { admin, hosts } }: Installation,
  database: string,
  masterRoles: readonly string[],
  hostId: number,
): Promise<void> {
  const { rows } = await admin.use(adminTarget(hosts, hostId), (session) =>
    session.query<{ name: string }>(
      `select rolname::text as name from pg_catalog.pg_roles
       where pg_catalog.regexp_replace(rolname, '_(public|k[0-9]+)$', '') = any ($1)
       union select datname::text from pg_catalog.pg_database where datname = $2`,
      [masterRoles, database],
    ),
  )
  if (rows[0])
    throw errors.moveFailed(`The host '${hosts.get(hostId).name}' has a role or database ${rows[0].name}`)
}

/** The database, and roles and rows of all members, on another host, still without data and without quotas. */
export async function makePlace(
  installation: Installation,
  { database, members }: Household,
  hostId: number,
  roles: readonly string[],
): Promise<void> {
  // What is there may be the account itself, after another move: this process may have stood still.
  await createTenantDatabase(installation, hostId, database, 'stays')
  for (const member of members) await admitMember(installation, { ...member, hostId, quotaBytes: 0 }, roles)
}

async function admitMember(
  { databases, secrets }: Installation,
  account: Account,
  roles: readonly string[],
): Promise<void> {
  const { hostId } = account
  await createRoles(databases, secrets, account)
  const { masterRole, publicRole } = account
  const keyRoles = roles.filter((role) => role !== masterRole && masterRoleOfKey(role) === masterRole)
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    for (const role of keyRoles)
      await session.query(
        `create role ${quoteName(role)} ${tenantRoleAttributes} ${passwordClause(secrets, role)};
         grant ${quoteName(publicRole)} to ${quoteName(role)};
         grant ${quoteName(role)} to ${quoteName(masterRole)}`,
      )
  })
  await admitToDatabase(databases, account, [])
  // For large objects that an operator has given the user. The access lists are made equal later, so it is for the copy only.
  await databases.admin.use(adminTarget(databases.hosts, hostId, account.database), (session) =>
    session.query(`grant execute on function ${largeObjectMaker} to ${quoteName(masterRole)}`),
  )
}

const arrivalMark = 'cartage: came by move '

/** Notes on the database itself by which move it came, for a control database that has forgotten it. */
export async function markArrival(
  { admin, hosts }: Databases,
  hostId: number,
  database: string,
  moveId: number,
): Promise<void> {
  await admin.use(adminTarget(hosts, hostId), (session) =>
    session.query(`comment on database ${quoteName(database)} is '${arrivalMark}${moveId}'`),
  )
}

/** Undefined: it is not there, was made there, or is a copy that was never switched to. */
export async function arrivalOf(
  { admin, hosts }: Databases,
  hostId: number,
  database: string,
): Promise<number | undefined> {
  const { rows } = await admin.use(adminTarget(hosts, hostId), (session) =>
    session.query<{ mark: string | null }>(
      `select pg_catalog.shobj_description(oid, 'pg_database') as mark
       from pg_catalog.pg_database where datname operator(pg_catalog.=) $1`,
      [database],
    ),
  )
  const found = rows[0]?.mark
  return found?.startsWith(arrivalMark) ? Number(found.slice(arrivalMark.length)) : undefined
}

/** What the service itself keeps in a tenant database, with names in place of oids. */
export type Records = Readonly<{
  quotas: readonly Readonly<{ username: string; bytes: string }>[]
  roles: readonly Readonly<{
    role: string
    username: string
    type: string
    services: readonly string[]
    version: number
  }>[]
  grants: readonly Readonly<Record<string, unknown>>[]
  changes: readonly Readonly<{ relation: string; updatedAt: string }>[]
}>

export async function readRecords(session: Session): Promise<Records> {
  const { rows } = await session.query<Records>(
    `select
       (select coalesce(pg_catalog.json_agg(a order by a.username), '[]') from (
          select username, quota_in_bytes::text as bytes from cartage.accounts) a) as quotas,
       (select coalesce(pg_catalog.json_agg(r order by r.role), '[]') from (
          select role_name as role, username, key_type as type, services, version from cartage.roles) r) as roles,
       (select coalesce(pg_catalog.json_agg(g), '[]') from (
          select g.role_name, g.schema_name, g.table_name, g.permissions, g.made_by,
            (pg_catalog.pg_identify_object('pg_catalog.pg_class'::regclass, c.oid, 0)).identity as relation
          from cartage.grants g left join pg_catalog.pg_class c on c.oid = g.relation order by g.id) g) as grants,
       (select coalesce(pg_catalog.json_agg(m order by m.relation), '[]') from (
          select (pg_catalog.pg_identify_object('pg_catalog.pg_class'::regclass, c.oid, 0)).identity as relation,
            pg_catalog.max(t.updated_at)::text as "updatedAt"
          from cartage.table_changes t join pg_catalog.pg_class c on c.oid = t.relation group by c.oid) m) as changes`,
  )
  return rows[0]!
}

/** Stores them, except the quotas. Without triggers, like a replica, so that the times of changes stay. */
export async function writeRecords(session: Session, { roles, grants, changes }: Records): Promise<void> {
  await session.query(`begin; set local session_replication_role = replica`)
  await session.query(
    `insert into cartage.roles (role_name, username, key_type, services, version)
     select r.role, r.username, r.type, r.services, r.version
     from pg_catalog.json_to_recordset($1) r (role text, username text, type text, services text[], version integer)
     on conflict (role_name) do update set services = excluded.services, version = excluded.version`,
    [JSON.stringify(roles)],
  )
  await session.query('delete from cartage.grants')
  await session.query(
    `insert into cartage.grants (role_name, schema_name, table_name, permissions, relation, made_by)
     select g.role_name, g.schema_name, g.table_name, g.permissions, coalesce(g.relation, '-')::regclass, g.made_by
     from rows from (pg_catalog.json_to_recordset($1) as (
       role_name text, schema_name text, table_name text, permissions text[], relation text, made_by text))
       with ordinality g (role_name, schema_name, table_name, permissions, relation, made_by, place)
     order by g.place`,
    [JSON.stringify(grants)],
  )
  await session.query('delete from cartage.table_changes')
  await session.query(
    `insert into cartage.table_changes (relation, updated_at, transaction)
     select c.relation::regclass, c."updatedAt", pg_catalog.pg_current_xact_id()
     from pg_catalog.json_to_recordset($1) c (relation text, "updatedAt" timestamptz)`,
    [JSON.stringify(changes)],
  )
  await session.query('commit')
}

/** Last, so that no quota stops the copy of an account that is over it. */
export async function writeQuotas(session: Session, { quotas }: Records): Promise<void> {
  await session.query(
    `update cartage.accounts a set quota_in_bytes = q.bytes
     from pg_catalog.json_to_recordset($1) q (username text, bytes bigint) where q.username = a.username`,
    [JSON.stringify(quotas)],
  )
}
