import type { ClientBase } from 'pg'
import { errors } from '../../errors.ts'
import type { Secrets } from '../../secrets.ts'
import { retry } from '../../waiting/retry.ts'
import { advisoryLocks } from '../advisory-locks.ts'
import { endBackends } from '../end-backend.ts'
import type { Hosts } from '../hosts.ts'
import { passwordClause } from '../password-clause.ts'
import { quoteIdentifier } from '../quote.ts'
import type { Session } from '../session.ts'
import { adminTarget, type SessionTarget } from '../session-target.ts'
import { hasSqlstate, sqlstate } from '../sqlstate.ts'
import type { Keeper } from './log-in.ts'
import type { RolePools } from './role-pools.ts'

export type LoginRepairOptions = Readonly<{
  admin: RolePools
  hosts: Hosts
  secrets: Secrets
  tempFileMaxBytes: number
}>

/**
 * Keeps the logins of tenants as we chose them. PostgreSQL lets every role change its own password and settings, also
 * to ones that block its login, end its sessions or change the answers to others who log in as the same role.
 */
export class LoginRepair implements Keeper {
  readonly #options: LoginRepairOptions
  readonly #repairs = new Map<string, Promise<void>>()

  constructor(options: LoginRepairOptions) {
    this.#options = options
  }

  /** Whether a session that has just begun is as we chose it. */
  async isAsChosen(client: ClientBase): Promise<boolean> {
    const { rows } = await client.query<{ chosen: boolean }>(asChosen, [String(this.#tempFileKb)])
    return rows[0]!.chosen
  }

  /** Puts password and settings back. Callers that need the same repair at the same time share it. */
  repair(target: SessionTarget): Promise<void> {
    const key = `${target.hostId}/${target.database}/${target.role}`
    const known = this.#repairs.get(key)
    if (known) return known
    const repair = this.#repairWithRetries(target).finally(() => this.#repairs.delete(key))
    this.#repairs.set(key, repair)
    return repair
  }

  /** The role may be changing itself at this moment, and another process of ours may repair it. */
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
      await session.query(
        `alter role ${quoteIdentifier(target.role)} ${passwordClause(secrets, target.role)}`,
      )
      await resetSettings(session, target.role)
      await this.#limitTempFiles(session, target.database)
      await session.query('commit')
    })
  }

  /** On the database, which belongs to no tenant; no role can override it, as only superusers may set it. */
  async #limitTempFiles(session: Session, database: string): Promise<void> {
    const setting = `temp_file_limit=${this.#tempFileKb}`
    const { rowCount } = await session.query(
      `select from pg_catalog.pg_db_role_setting s join pg_catalog.pg_database d on d.oid = s.setdatabase
       where d.datname = $1 and s.setrole = 0 and $2 = any (s.setconfig)`,
      [database, setting],
    )
    if (rowCount === 0) await session.query(`alter database ${quoteIdentifier(database)} set ${setting}`)
  }

  get #tempFileKb(): number {
    return Math.ceil(this.#options.tempFileMaxBytes / 1024)
  }
}

/**
 * Looks at the settings in effect and at those in the catalog. The first do not show settings of an extension that is not
 * loaded yet; the second do not show what was reset since the login. All names are qualified, as tenants can make others.
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

/** One repair in a database at a time. The lock is taken in the administrator's database, where no tenant can take it. */
async function holdLogins(session: Session, database: string): Promise<void> {
  await session.query('select pg_catalog.pg_advisory_xact_lock($1, pg_catalog.hashtext($2))', [
    advisoryLocks.login,
    database,
  ])
}

/** No role can take the right to log in from itself: its account is being deleted, and that goes first. */
async function refuseIfLockedOut(session: Session, role: string): Promise<void> {
  const { rowCount } = await session.query(
    'select from pg_catalog.pg_roles where rolname = $1 and not rolcanlogin',
    [role],
  )
  if (rowCount) throw errors.databaseUnavailable(new Error('the role is locked out'))
}

/**
 * A role that is being changed in a transaction that does not end would hold up the repair, and all who need it. A tenant's
 * session may do that as the role itself or as a member of it; nothing else of a tenant takes these locks. Sessions of other
 * accounts, and of others who administer the server, hold other roles. (Superusers count as members of every role.)
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
 * In every database, also those that the role cannot enter. `ALTER ROLE ... IN DATABASE ... RESET` would lock each
 * database, and others can hold that lock up.
 */
async function resetSettings(session: Session, role: string): Promise<void> {
  await session.query(
    `delete from pg_catalog.pg_db_role_setting
     where setrole = (select oid from pg_catalog.pg_roles where rolname = $1)`,
    [role],
  )
}

/** Tuple concurrently updated; two rows for the same setting; a lock that was not had in time. */
const conflicts = ['XX000', sqlstate.uniqueViolation, sqlstate.lockNotAvailable, '40P01']
const mostAttempts = 5
