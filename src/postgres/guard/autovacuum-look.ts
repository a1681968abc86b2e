import { quoteQualified } from '../../contract/text/quote.ts'
import type { Databases } from '../databases.ts'
import type { Session } from '../session.ts'
import { adminTarget } from '../session-target.ts'
import { tenantDatabasePattern } from '../tenant-names.ts'
import type { Ended, GuardLook } from './look.ts'

/**
 * Ends autovacuum workers that stay on a tenant's table longer than its size explains, and turns autovacuum off for the
 * table. ANALYZE computes index and statistics expressions, so the workers run the tenant's code, and the whole cluster
 * shares the few workers. Afterwards every table of that database gets little time, whatever its owner turns on or
 * creates again.
 */
export function lookAtAutovacuum(databases: Databases, tableMs: number): GuardLook {
  const watches = new Map<number, AutovacuumWatch>()
  return {
    name: 'autovacuum',
    everyMs: 1_000,
    look: async ({ host, ask }) => {
      const watch = watches.get(host.id) ?? new AutovacuumWatch(databases, host.id, tableMs)
      watches.set(host.id, watch)
      return watch.look(
        await ask<AutovacuumWorker>(workers, [tenantDatabasePattern(databases.namespace), leastMs]),
      )
    },
  }
}

type AutovacuumWorker = Readonly<{
  pid: number
  xactStart: string
  database: string
  relations: readonly number[]
  ms: number
}>

type VacuumedTable = Readonly<{ schema: string; name: string; owner: string; bytes: number }>

class AutovacuumWatch {
  readonly #databases: Databases
  readonly #hostId: number
  readonly #tableMs: number
  /** Until when a database gets little time per table. */
  readonly #strictUntil = new Map<string, number>()
  readonly #checking = new Set<string>()
  /** Ended since the last round. */
  #ended: Ended[] = []

  constructor(databases: Databases, hostId: number, tableMs: number) {
    this.#databases = databases
    this.#hostId = hostId
    this.#tableMs = tableMs
  }

  look(found: readonly AutovacuumWorker[]): readonly Ended[] {
    for (const worker of found) if (worker.ms > this.#patienceMs(worker.database)) this.#check(worker)
    const ended = this.#ended
    this.#ended = []
    return ended
  }

  #patienceMs(database: string): number {
    const isStrict = (this.#strictUntil.get(database) ?? 0) > performance.now()
    return isStrict ? Math.min(leastMs, this.#tableMs) : this.#tableMs
  }

  /** In the background: it queries the table's database, and a round must not wait for that. */
  #check(worker: AutovacuumWorker): void {
    const key = `${worker.pid} ${worker.xactStart}`
    if (this.#checking.has(key)) return
    this.#checking.add(key)
    const { admin, hosts } = this.#databases
    void admin
      .use(adminTarget(hosts, this.#hostId, worker.database), (session) => this.#end(session, worker))
      .catch(() => undefined)
      .finally(() => this.#checking.delete(key))
  }

  async #end(session: Session, worker: AutovacuumWorker): Promise<void> {
    const { rows } = await session.query<VacuumedTable>(tableOf, [worker.relations])
    const table = rows[0]
    if (!table || worker.ms < this.#patienceMs(worker.database) + table.bytes / bytesPerMs) return
    const { rowCount } = await session.query(endWorker, [worker.pid, worker.xactStart])
    if (!rowCount) return
    this.#strictUntil.set(worker.database, performance.now() + strictMs)
    const name = quoteQualified(table.schema, table.name)
    this.#ended.push({
      role: table.owner,
      why: `kept autovacuum busy on the table ${name} of ${worker.database}: autovacuum is off for it now`,
      table: name,
    })
    await session.query(`set lock_timeout = '1s'; alter table ${name} set (autovacuum_enabled = off)`)
  }
}

/** Except workers that prevent wraparound: they compute no expression, and the cluster needs them. */
const workers = `
  select activity.pid, xact_start::text as "xactStart", datname as database,
    pg_catalog.array_agg(relation::int8::float8) as relations,
    max(extract(epoch from pg_catalog.clock_timestamp() - xact_start) * 1000)::float8 as ms
  from pg_catalog.pg_stat_activity activity
  join pg_catalog.pg_locks lock on lock.pid = activity.pid and locktype = 'relation' and mode = 'ShareUpdateExclusiveLock'
  where backend_type = 'autovacuum worker' and datname ~ $1 and query not like '%to prevent wraparound)'
    and pg_catalog.clock_timestamp() - xact_start > $2 * interval '1 ms'
  group by activity.pid, xact_start, datname`

const tableOf = `
  select nspname as schema, relname as name, rolname as owner,
    pg_catalog.pg_total_relation_size(pg_class.oid)::float8 as bytes
  from pg_catalog.pg_class
  join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
  join pg_catalog.pg_roles on pg_roles.oid = relowner
  where pg_class.oid = any ($1::int8[]::oid[]) and relkind in ('r', 'm') and not rolsuper`

/** Only if it is still on the same table. Waits for its end, as it holds a lock on the table. */
const endWorker = `
  select pg_catalog.pg_terminate_backend(pid, 1000) from pg_catalog.pg_stat_activity
  where pid = $1 and xact_start = $2::timestamptz and backend_type = 'autovacuum worker'`

const leastMs = 2_000
const strictMs = 60 * 60_000
/** 4 MB per second: autovacuum reads ten times as fast, pauses included. */
const bytesPerMs = 4_000
