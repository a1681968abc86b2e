import type { Account } from '../auth/account.ts'
import { quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import { holdName } from '../postgres/advisory-locks.ts'
import type { Databases } from '../postgres/databases.ts'
import { dropInSteps, dropRolesEverywhere } from '../postgres/drop-owned.ts'
import { endBackends, endBackendsUntilGone } from '../postgres/end-backend.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { endOnReplicas } from '../postgres/end-requests.ts'
import { passwordClause } from '../postgres/password-clause.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { otherRolesPattern } from '../postgres/tenant-names.ts'
import type { Secrets } from '../secrets.ts'
import { poll } from '../waiting/poll.ts'
import { retry } from '../waiting/retry.ts'
import type { SpareMember } from './spare-store.ts'

/** What account rows and roles are made from, before the account exists. */
export type TenantPlace = Pick<
  Account,
  'username' | 'hostId' | 'database' | 'schema' | 'masterRole' | 'publicRole' | 'organization' | 'quotaBytes'
>

/** Creates the two LOGIN roles of a user. Roles belong to the whole cluster. Those of a spare member exist already. */
export async function createRoles(databases: Databases, secrets: Secrets, place: TenantPlace): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, place.hostId), async (session) => {
    await holdName(session, place.masterRole)
    const { rowCount: isSpare } = await session.query(
      'select from pg_catalog.pg_roles where rolname = $1 and not rolcanlogin',
      [place.masterRole],
    )
    const verb = isSpare ? 'alter' : 'create'
    const role = (name: string) =>
      `${verb} role ${quoteName(name)} ${tenantRoleAttributes} ${passwordClause(secrets, name)}`
    await session.query(`${role(place.masterRole)}; ${role(place.publicRole)}; ${membership(place)}`)
  })
}

const membership = ({ masterRole, publicRole }: SpareMember) =>
  `grant ${quoteName(publicRole)} to ${quoteName(masterRole)}`

export const tenantRoleAttributes =
  'login inherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit -1'

/**
 * Adds the user to the database: rows, schema and grants, in one transaction, one user at a time. Also creates the
 * spare members.
 */
export async function admitToDatabase(
  databases: Databases,
  place: TenantPlace,
  spares: readonly SpareMember[],
): Promise<void> {
  const master = quoteName(place.masterRole)
  const schema = quoteName(place.schema)
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
        `grant create on database ${quoteName(place.database)} to ${master};
         grant create on schema public to ${master}`,
      )
    const usage = `grant usage on schema ${schema} to ${quoteName(place.publicRole)}`
    await session.query([usage, ...spares.map(creationOfSpare)].join(';'))
    if (!(await hasMemberRights(session, place)))
      await grantMemberRights(session, place.database, [place, ...spares])
    await session.query('commit')
  })
}

/** After a restore of the control database, a lost member may have this name. */
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

/** Without LOGIN until a member gets them. */
const creationOfSpare = (spare: SpareMember) =>
  `create role ${quoteName(spare.masterRole)}; create role ${quoteName(spare.publicRole)}; ${membership(spare)}`

/** A spare member got them when its roles were created. */
async function hasMemberRights(session: Session, { masterRole }: SpareMember): Promise<boolean> {
  const { rows } = await session.query<{ has: boolean }>(
    `select pg_catalog.bool_and(pg_catalog.has_function_privilege($1::name, name::regprocedure, 'execute')) as has
     from pg_catalog.unnest($2::text[]) name`,
    [masterRole, masterFunctions],
  )
  return rows[0]!.has
}

/** Grants in the access lists that all members share. */
async function grantMemberRights(
  session: Session,
  database: string,
  members: readonly SpareMember[],
): Promise<void> {
  const masters = members.map(({ masterRole }) => quoteName(masterRole)).join(', ')
  const everyone = members.map(({ publicRole }) => quoteName(publicRole)).join(', ')
  await session.query(`
    grant connect on database ${quoteName(database)} to ${everyone};
    grant temporary on database ${quoteName(database)} to ${masters};
    grant execute on function ${masterFunctions.join(', ')} to ${masters}`)
}

/** Functions revoked from PUBLIC in a tenant database, and granted to its master roles. */
export const masterFunctions: readonly string[] = [
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
 * PostgreSQL stores all privileges on a database in one catalog row. If another session changes that row at the same
 * time, `work` fails and is retried. A tenant's session that locks the row is ended.
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
  const isTransient = (error: unknown) =>
    hasSqlstate(error, sqlstate.internalError, sqlstate.deadlockDetected)
  await retry(attempt, { attempts: 6, isTransient })
}

/**
 * Members of an organization are added and removed one at a time, because the privileges on their database are one
 * catalog row. The lock is on a table that no tenant can lock. It belongs to the transaction, so it also waits for the
 * backend of a killed process.
 */
const oneByOne = `set local lock_timeout = '60s'; lock table cartage.accounts in share row exclusive mode; set local lock_timeout = '5s'`

const allServices = 'geocoding,routing,isolines,observatory'

/** All roles of a user on the host: master, public, and one per key. */
export async function rolesOf(session: Session, masterRole: string): Promise<readonly string[]> {
  const { rows } = await session.query<{ rolname: string }>(
    `select rolname from pg_catalog.pg_roles where rolname = $1 or rolname ~ $2`,
    [masterRole, otherRolesPattern(masterRole)],
  )
  return rows.map((row) => row.rolname)
}

/**
 * Ends a user's sessions and removes its objects in a shared database, so that the roles can be dropped. The schema is
 * dropped with its owner, not by name: the name may be another user's, and the reason why this user's creation failed.
 */
export async function evictFromDatabase(databases: Databases, place: TenantPlace): Promise<void> {
  await inSharedDatabase(databases, place, async (session) => {
    const roles = await lockOut(databases, session, place)
    await dropInSteps(session, roles)
    await session.query(`begin; ${oneByOne}; select cartage.compress_with_lz4()`)
    if (roles.length > 0) await session.query(`drop owned by ${roles.map(quoteName).join(', ')} cascade`)
    await session.query('delete from cartage.accounts where master_role = $1', [place.masterRole])
    await session.query('commit')
  })
}

/** Ends sessions of other accounts that hold the roles: any tenant can name them in an uncommitted GRANT. */
export async function dropRoles(
  databases: Databases,
  hostId: number,
  masterRole: string,
  confirm: () => Promise<void> = async () => undefined,
): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    await holdName(session, masterRole)
    await confirm()
    const roles = await lockOut(databases, session, { hostId, masterRole })
    if (roles.length === 0) return
    await dropRolesEverywhere(databases, session, roles)
  })
}

/** Blocks new logins of the user, and ends the sessions. */
export async function shutOut(databases: Databases, hostId: number, masterRole: string): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, hostId), (session) =>
    lockOut(databases, session, { hostId, masterRole }),
  )
}

/** From now on no role of the user can log in, and none of its sessions is left. */
export async function closeLogins(databases: Databases, hostId: number, masterRole: string): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    const roles = await lockOut(databases, session, { hostId, masterRole })
    const areGone = async () => {
      const { rowCount } = await session.query(
        'select from pg_catalog.pg_stat_activity where usename = any ($1)',
        [roles],
      )
      return rowCount === 0 || undefined
    }
    if (!(await poll(areGone, { everyMs: 100, timeoutMs: 20_000 })))
      throw errors.moveFailed('A session of the user could not be ended')
  })
}

export async function openLogins(databases: Databases, hostId: number, masterRole: string): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    const roles = await rolesOf(session, masterRole)
    await session.query(roles.map((role) => `alter role ${quoteName(role)} login`).join(';'))
  })
}

/**
 * Blocks new logins and ends the running sessions, on replicas too. Ends sessions first, too, as a role may be changing itself in a
 * transaction that locks it.
 */
async function lockOut(
  databases: Databases,
  session: Session,
  { hostId, masterRole }: Pick<TenantPlace, 'hostId' | 'masterRole'>,
): Promise<readonly string[]> {
  const roles = await rolesOf(session, masterRole)
  await endBackends(session, 'usename = any($1)', [roles])
  for (const role of roles) {
    await session.query(`alter role ${quoteName(role)} nologin`).catch((error: unknown) => {
      // The role of a deleted key may be dropped in the background.
      if (!hasSqlstate(error, sqlstate.undefinedObject)) throw error
    })
  }
  await Promise.all([
    endBackendsUntilGone(session, 'usename = any($1)', [roles]),
    endOnReplicas(databases, hostId, roles),
  ])
  return rolesOf(session, masterRole)
}
