import type { ClientBase } from 'pg'
import { quoteName } from '../../contract/text/quote.ts'
import { errors } from '../../errors.ts'
import type { Secrets } from '../../secrets.ts'
import { retry } from '../../waiting/retry.ts'
import { advisoryLocks } from '../advisory-locks.ts'
import { endBackends } from '../end-backend.ts'
import type { Hosts } from '../hosts.ts'
import { passwordClause } from '../password-clause.ts'
import type { Session } from '../session.ts'
import { adminTarget, type SessionTarget } from '../session-target.ts'
import { hasSqlstate, sqlstate } from '../sqlstate.ts'
import type { LoginCheck } from './log-in.ts'
import type { RolePools } from './role-pools.ts'

export type LoginRepairOptions = Readonly<{
  admin: RolePools
  hosts: Hosts
  secrets: Secrets
  tempFileMaxBytes: number
}>

/**
 * Restores the logins of tenants. PostgreSQL lets every role change its own password and settings, even to values that
 * block its login, end its sessions, or change results for other callers with the same role.
 */
export class LoginRepair implements LoginCheck {
  readonly #options: LoginRepairOptions
  readonly #repairs = new Map<string, Promise<void>>()

  constructor(options: LoginRepairOptions) {
    this.#options = options
  }

  /** True if a new session has only our settings. */
  async isAsChosen(client: ClientBase): Promise<boolean> {
    const { rows } = await client.query<{ chosen: boolean }>(asChosen, [String(this.#tempFileKb)])
    return rows[0]!.chosen
  }

  /**
   * Restores password and settings. Concurrent callers share one repair. A replica has what its host has, a little later: the
   * caller goes to the host, where the login is repaired if it must be.
   */
  repair(target: SessionTarget): Promise<void> {
    if (target.replicaOf !== undefined)
      return Promise.reject(errors.databaseUnavailable(new Error('the role cannot log in to the replica')))
    const key = `${target.hostId}/${target.database}/${target.role}`
    const known = this.#repairs.get(key)
    if (known) return known
    const repair = this.#repairWithRetries(target).finally(() => this.#repairs.delete(key))
    this.#repairs.set(key, repair)
    return repair
  }

  /** Retries, as the role or another process of ours may be changing the same rows. */
  #repairWithRetries(target: SessionTarget): Promise<void> {
    return retry(() => this.#repairOnce(target), {
      attempts: mostAttempts,
      isTransient: (error) => hasSqlstate(error, ...conflicts),
      pauseMs: (attempt) => attempt * 20,
    })
  }

  async #repairOnce(target: SessionTarget): Promise<void> {
    const { admin, hosts, secrets } = this.#options
    await admin.use(adminTarget(hosts, target.hostId), async (session) => {
      await session.query(`begin; set local lock_timeout = '1s'; set local statement_timeout = '5s'`)
      await holdLogins(session, target.database)
      await refuseIfLockedOut(session, target.role)
      await endRoleChanges(session, target.role)
      await session.query(`alter role ${quoteName(target.role)} ${passwordClause(secrets, target.role)}`)
      await resetSettings(session, target.role)
      await this.#limitTempFiles(session, target.database)
      await session.query('commit')
    })
  }

  /** Set on the database, which belongs to no tenant. Roles cannot override it: only superusers may set it. */
  async #limitTempFiles(session: Session, database: string): Promise<void> {
    const setting = `temp_file_limit=${this.#tempFileKb}`
    const { rowCount } = await session.query(
      `select from pg_catalog.pg_db_role_setting s join pg_catalog.pg_database d on d.oid = s.setdatabase
       where d.datname = $1 and s.setrole = 0 and $2 = any (s.setconfig)`,
      [database, setting],
    )
    if (rowCount === 0) await session.query(`alter database ${quoteName(database)} set ${setting}`)
  }

  get #tempFileKb(): number {
    return Math.ceil(this.#options.tempFileMaxBytes / 1024)
  }
}

/**
 * Checks the settings in effect and those in the catalog. The former lack settings of extensions that are not loaded
 * yet; the latter lack what changed since the login. All names are qualified, as tenants can create their own.
 */
const asChosen = `
  select not exists (
      select from pg_catalog.pg_settings
      where source operator(pg_catalog.=) any (array['user', 'database user'])
        or (name operator(pg_catalog.=) 'temp_file_limit' and setting operator(pg_catalog.<>) $1))
    and not exists (
      select from pg_catalog.pg_db_role_setting setting
      join pg_catalog.pg_roles role on role.oid operator(pg_catalog.=) setting.setrole
      where role.rolname operator(pg_catalog.=) session_user) as chosen`

/** One repair per database at a time. The lock is in the administrator's database, where no tenant can take it. */
async function holdLogins(session: Session, database: string): Promise<void> {
  await session.query('select pg_catalog.pg_advisory_xact_lock($1, pg_catalog.hashtext($2))', [
    advisoryLocks.login,
    database,
  ])
}

/** A role cannot revoke its own LOGIN, so its account is being deleted, which has priority. */
async function refuseIfLockedOut(session: Session, role: string): Promise<void> {
  const { rowCount } = await session.query(
    'select from pg_catalog.pg_roles where rolname = $1 and not rolcanlogin',
    [role],
  )
  if (rowCount) throw errors.databaseUnavailable(new Error('the role is locked out'))
}

/**
 * A transaction that changes the role and does not end would block the repair and everyone who needs it. Only a
 * tenant's session as the role itself or as a member of it can hold these locks. Sessions of other accounts and of
 * other administrators hold other roles. (Superusers count as members of every role.)
 */
async function endRoleChanges(session: Session, role: string): Promise<void> {
  await endBackends(
    session,
    `usename <> current_user and pg_catalog.pg_has_role(usesysid, $1, 'member')
     and not (select rolsuper from pg_catalog.pg_roles where oid = usesysid)
     and pid in (
       select pid from pg_catalog.pg_locks where mode = 'RowExclusiveLock'
         and relation in ('pg_catalog.pg_authid'::regclass, 'pg_catalog.pg_db_role_setting'::regclass))`,
    [role],
  )
}

/**
 * In every database, even those that the role cannot enter. `ALTER ROLE ... IN DATABASE ... RESET` would lock each
 * database, which others can block.
 */
async function resetSettings(session: Session, role: string): Promise<void> {
  await session.query(
    `delete from pg_catalog.pg_db_role_setting
     where setrole = (select oid from pg_catalog.pg_roles where rolname = $1)`,
    [role],
  )
}

/** Tuple concurrently updated; two rows for one setting; lock timeout; deadlock. */
const conflicts = ['XX000', sqlstate.uniqueViolation, sqlstate.lockNotAvailable, '40P01']
const mostAttempts = 5
