import { errors } from '../../errors.ts'
import { type Databases, tenantPools } from '../databases.ts'
import { tenantRolePattern } from '../tenant-names.ts'
import type { AskHost, Ended, GuardLook } from './look.ts'
import { OwnersTurn } from './owners-turn.ts'

/**
 * Keeps small the shared catalogs in which every role may store its own settings and password: all accounts read them,
 * and no quota counts them. A role that stores more than 16 KB loses all of it, its statements are ended, and it gets
 * no connection for a minute. The same happens to roles that are writing when the catalogs have grown, committed or
 * not; then the catalogs are vacuumed.
 */
export function lookAtSettings(databases: Databases): GuardLook {
  const pattern = tenantRolePattern(databases.namespace)
  const vacuumedAt = new Map<number, number>()
  const ending = new RoleEndings(databases)
  return {
    name: 'settings',
    everyMs: 500,
    alertMs: 100,
    look: async ({ host, ask }) => {
      const isGrown = await haveGrown(ask)
      const large = await ask<{ role: string }>(largeRoles, [pattern, maxRoleBytes])
      const writers = isGrown ? await ask<{ role: string }>(writingRoles, [pattern]) : []
      const roles = [...new Set([...large, ...writers].map(({ role }) => role))]
      const ended: Ended[] = []
      for (const role of roles) {
        if (!(await ending.endAll(host.id, role, ask))) continue
        await ask(resetSettings, [role])
        await ask(resetPassword, [role, maxPasswordBytes])
        ended.push({ role, why: 'stored too much in the settings of its role' })
      }
      if (isGrown && performance.now() - (vacuumedAt.get(host.id) ?? -vacuumEveryMs) >= vacuumEveryMs) {
        vacuumedAt.set(host.id, performance.now())
        await vacuum(ask)
      }
      return ended
    },
  }
}

async function haveGrown(ask: AskHost): Promise<boolean> {
  const [size] = await ask<{ bytes: number }>(catalogBytes)
  return Number(size!.bytes) > maxCatalogBytes
}

/** Ends the statements of a role. */
class RoleEndings {
  readonly #databases: Databases
  readonly #ownersTurn = new OwnersTurn()

  constructor(databases: Databases) {
    this.#databases = databases
  }

  /** False: a statement runs in another process, which may be about to end it. */
  async endAll(hostId: number, role: string, ask: AskHost): Promise<boolean> {
    const { paused } = this.#databases
    const pools = tenantPools(this.#databases)
    const running = await ask<{ pid: number }>(runningOf, [role])
    const sessions = running.map(({ pid }) => pools.map((each) => each.find(hostId, pid)).find(Boolean))
    if (sessions.includes(undefined) && !this.#ownersTurn.isOver(`${hostId}/${role}`)) return false
    paused.pause(hostId, role, pauseMs)
    for (const session of sessions) session?.endFor(errors.settingsTooLarge())
    await ask(endRunning, [role, running.map(({ pid }) => pid)])
    return true
  }
}

/** Rows that an open transaction may still see remain: the next round tries again. */
async function vacuum(ask: AskHost): Promise<void> {
  for (const catalog of ['pg_db_role_setting', 'pg_authid']) await ask(`vacuum pg_catalog.${catalog}`)
}

/** Stored size: values may be compressed. */
const largeRoles = `
  select rolname as role
  from pg_catalog.pg_authid
  left join pg_catalog.pg_db_role_setting on setrole = pg_authid.oid
  where rolname ~ $1
  group by rolname, rolpassword
  having coalesce(sum(pg_catalog.pg_column_size(setconfig)), 0)
    + coalesce(pg_catalog.pg_column_size(rolpassword), 0) > $2`

const catalogBytes = `
  select sum(pg_catalog.pg_relation_size(oid) + pg_catalog.pg_relation_size(reltoastrelid))::float8
    - 1024 * (select count(*) from pg_catalog.pg_authid) as bytes
  from pg_catalog.pg_class
  where oid in ('pg_catalog.pg_db_role_setting'::regclass, 'pg_catalog.pg_authid'::regclass) and reltoastrelid <> 0`

const writingRoles = `
  select distinct usename as role
  from pg_catalog.pg_locks join pg_catalog.pg_stat_activity using (pid)
  where usename ~ $1 and mode = 'RowExclusiveLock'
    and relation in ('pg_catalog.pg_db_role_setting'::regclass, 'pg_catalog.pg_authid'::regclass)`

const runningOf = `select pid from pg_catalog.pg_stat_activity where usename = $1 and state <> 'idle'`

const endRunning = `
  select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where usename = $1 and pid = any ($2)`

const resetSettings = `
  delete from pg_catalog.pg_db_role_setting
  where setrole = (select oid from pg_catalog.pg_roles where rolname = $1)`

/** The next login restores it. */
const resetPassword = `
  update pg_catalog.pg_authid set rolpassword = null where rolname = $1 and pg_catalog.pg_column_size(rolpassword) > $2`

const maxRoleBytes = 16 * 1024
const maxPasswordBytes = 1024
/** In addition to what the existing roles need. */
const maxCatalogBytes = 8 * 1024 ** 2
const vacuumEveryMs = 2_000
const pauseMs = 60_000
