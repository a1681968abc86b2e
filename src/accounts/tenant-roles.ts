import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import { holdName } from '../postgres/advisory-locks.ts'
import type { Databases } from '../postgres/databases.ts'
import { dropInSteps, dropOwnedElsewhere } from '../postgres/drop-owned.ts'
import { endBackends, endBackendsUntilGone } from '../postgres/end-backend.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { passwordClause } from '../postgres/password-clause.ts'
import { quoteIdentifier } from '../postgres/quote.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { otherRolesPattern } from '../postgres/tenant-names.ts'
import type { Secrets } from '../secrets.ts'
import type { SpareMember } from './spare-store.ts'

/** What account rows and roles are made from, before the account exists. */
export type TenantPlace = Pick<
  Account,
  'username' | 'hostId' | 'database' | 'schema' | 'masterRole' | 'publicRole' | 'organization' | 'quotaBytes'
>

/** The two LOGIN roles of a user. Roles belong to the whole cluster. Those of a spare member are there already. */
export async function createRoles(databases: Databases, secrets: Secrets, place: TenantPlace): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, place.hostId), async (session) => {
    await holdName(session, place.masterRole)
    const { rowCount: isSpare } = await session.query(
      'select from pg_catalog.pg_roles where rolname = $1 and not rolcanlogin',
      [place.masterRole],
    )
    const verb = isSpare ? 'alter' : 'create'
    const role = (name: string) =>
      `${verb} role ${quoteIdentifier(name)} ${tenantRoleAttributes} ${passwordClause(secrets, name)}`
    await session.query(`${role(place.masterRole)}; ${role(place.publicRole)}; ${membership(place)}`)
  })
}

const membership = ({ masterRole, publicRole }: SpareMember) =>
  `grant ${quoteIdentifier(publicRole)} to ${quoteIdentifier(masterRole)}`

export const tenantRoleAttributes =
  'login inherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit -1'

/**
 * Moves the user into the database: rows, schema and grants, in one transaction, and one user after the other. Makes the
 * spare members, too.
 */
export async function admitToDatabase(
  databases: Databases,
  place: TenantPlace,
  spares: readonly SpareMember[],
): Promise<void> {
  const master = quoteIdentifier(place.masterRole)
  const schema = quoteIdentifier(place.schema)
  await inSharedDatabase(databases, place, async (session) => {
    await session.query(`begin; ${oneByOne}; select cartage.compress_with_lz4()`)
    await insertAccount(session, place)
    await session.query(
      `insert into cartage.roles values ($1, $3, 'master', '{${allServices}}'), ($2, $3, 'default', '{}')`,
      [place.masterRole, place.publicRole, place.username],
    )
    if (place.organization)
      await session.query(`create schema ${schema} authorization ${master}; select cartage.hide_code()`)
    else
      await session.query(
        `grant create on database ${quoteIdentifier(place.database)} to ${master};
         grant create on schema public to ${master}`,
      )
    const usage = `grant usage on schema ${schema} to ${quoteIdentifier(place.publicRole)}`
    await session.query([usage, ...spares.map(creationOfSpare)].join(';'))
    if (!(await hasMemberRights(session, place)))
      await grantMemberRights(session, place.database, [place, ...spares])
    await session.query('commit')
  })
}

/** The name may be that of a member whom the control database has forgotten, as it was set back. */
async function insertAccount(session: Session, place: TenantPlace): Promise<void> {
  const { username, schema, masterRole, publicRole, quotaBytes } = place
  await session
    .query('insert into cartage.accounts values ($1, $2, $3, $4, $5)', [
      username,
      schema,
      masterRole,
      publicRole,
      quotaBytes,
    ])
    .catch((error: unknown) => {
      throw hasSqlstate(error, sqlstate.uniqueViolation) ? errors.accountTaken(username) : error
    })
}

/** Without a login until they are a member's. */
const creationOfSpare = (spare: SpareMember) =>
  `create role ${quoteIdentifier(spare.masterRole)}; create role ${quoteIdentifier(spare.publicRole)}; ${membership(spare)}`

/** Those of a spare member were granted when its roles were made. */
async function hasMemberRights(session: Session, { masterRole }: SpareMember): Promise<boolean> {
  const { rows } = await session.query<{ has: boolean }>(
    `select pg_catalog.bool_and(pg_catalog.has_function_privilege($1::name, name::regprocedure, 'execute')) as has
     from pg_catalog.unnest($2::text[]) name`,
    [masterRole, masterFunctions],
  )
  return rows[0]!.has
}

/** What stands in the access lists that all members share. */
async function grantMemberRights(
  session: Session,
  database: string,
  members: readonly SpareMember[],
): Promise<void> {
  const masters = members.map(({ masterRole }) => quoteIdentifier(masterRole)).join(', ')
  const everyone = members.map(({ publicRole }) => quoteIdentifier(publicRole)).join(', ')
  await session.query(`
    grant connect on database ${quoteIdentifier(database)} to ${everyone};
    grant temporary on database ${quoteIdentifier(database)} to ${masters};
    grant execute on function ${masterFunctions.join(', ')} to ${masters}`)
}

/** What is taken from everybody in a tenant database, and given to its master roles. */
export const masterFunctions: readonly string[] = [
  'lo_creat(integer)',
  'lo_create(oid)',
  'lo_from_bytea(oid, bytea)',
  'pg_cancel_backend(integer)',
  'pg_terminate_backend(integer, bigint)',
  'pg_stat_get_activity(integer)',
  'pg_advisory_lock(bigint)',
  'pg_advisory_lock(integer, integer)',
  'pg_advisory_unlock(bigint)',
  'pg_advisory_unlock(integer, integer)',
  'pg_advisory_xact_lock(bigint)',
  'pg_advisory_xact_lock(integer, integer)',
  'pg_try_advisory_xact_lock(bigint)',
  'pg_try_advisory_xact_lock(integer, integer)',
  'xpath(text, xml)',
  'xpath(text, xml, text[])',
  'xpath_exists(text, xml)',
  'xpath_exists(text, xml, text[])',
  'xmlexists(text, xml)',
].map((signature) => `pg_catalog.${signature}`)

/**
 * PostgreSQL keeps all privileges on a database in one catalog row. If another session changes that row at the same moment,
 * `work` fails and is tried again. A session of a tenant that holds the row is ended.
 */
async function inSharedDatabase(
  databases: Databases,
  { hostId, database }: TenantPlace,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const attempt = () =>
    databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) =>
      endingBlockers(databases, session, () => work(session)),
    )
  for (let left = 5; ; left -= 1) {
    try {
      return await attempt()
    } catch (error) {
      if (left === 0 || !hasSqlstate(error, sqlstate.internalError, sqlstate.deadlockDetected)) throw error
    }
  }
}

/**
 * Members of an organization are added and removed one at a time, because the privileges on their database are one catalog
 * row. This lock is on a table that no tenant can lock. It belongs to the transaction, so it also waits for the backend of
 * a killed process.
 */
const oneByOne = `set local lock_timeout = '60s'; lock table cartage.accounts in share row exclusive mode; set local lock_timeout = '5s'`

const allServices = 'geocoding,routing,isolines,observatory'

/** Every role of a user that exists on the host: master, public, and one per key. */
export async function rolesOf(session: Session, masterRole: string): Promise<readonly string[]> {
  const { rows } = await session.query<{ rolname: string }>(
    `select rolname from pg_catalog.pg_roles where rolname = $1 or rolname ~ $2`,
    [masterRole, otherRolesPattern(masterRole)],
  )
  return rows.map((row) => row.rolname)
}

/**
 * Ends the sessions of a user and removes what it has in a shared database; then the roles themselves can go. The schema goes
 * with the role that owns it: by its name it may be another's, whose existence made the creation of this user fail.
 */
export async function evictFromDatabase(databases: Databases, place: TenantPlace): Promise<void> {
  await inSharedDatabase(databases, place, async (session) => {
    const roles = await lockOut(session, place.masterRole)
    await dropInSteps(session, roles)
    await session.query(`begin; ${oneByOne}; select cartage.compress_with_lz4()`)
    if (roles.length > 0)
      await session.query(`drop owned by ${roles.map(quoteIdentifier).join(', ')} cascade`)
    await session.query('delete from cartage.accounts where master_role = $1', [place.masterRole])
    await session.query('commit')
  })
}

/** Sessions of other accounts that hold the roles are ended: any tenant can name them in a GRANT, and not commit. */
export async function dropRoles(databases: Databases, hostId: number, masterRole: string): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    await holdName(session, masterRole)
    const roles = await lockOut(session, masterRole)
    if (roles.length === 0) return
    await dropOwnedElsewhere(databases, session, roles)
    await endingBlockers(databases, session, () =>
      session.query(`drop role ${roles.map(quoteIdentifier).join(', ')}`),
    )
  })
}

/**
 * No new logins, and the running sessions end. Some end before, as a role may be changing itself in a transaction that
 * holds it.
 */
async function lockOut(session: Session, masterRole: string): Promise<readonly string[]> {
  const roles = await rolesOf(session, masterRole)
  await endBackends(session, 'usename = any($1)', [roles])
  for (const role of roles) {
    await session.query(`alter role ${quoteIdentifier(role)} nologin`).catch((error: unknown) => {
      // The role of a deleted key may go in the background.
      if (!hasSqlstate(error, sqlstate.undefinedObject)) throw error
    })
  }
  await endBackendsUntilGone(session, 'usename = any($1)', [roles])
  return rolesOf(session, masterRole)
}
