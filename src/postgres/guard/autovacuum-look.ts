import type { Databases } from '../databases.ts'
import { quoteIdentifier } from '../quote.ts'
import type { Session } from '../session.ts'
import { adminTarget } from '../session-target.ts'
import { tenantDatabasePattern } from '../tenant-names.ts'
import type { Ended, Look } from './look.ts'

/**
 * Ends workers of autovacuum that stay on one table of a tenant for longer than its size explains. They run the tenant's
 * code, as ANALYZE computes the expressions of indexes and statistics, and the few workers are for the whole cluster.
 * Autovacuum is switched off for the table. A database that did this has little time for each table from then on, whatever
 * its owner switches on again or makes anew.
 */
export function lookAtAutovacuum(databases: Databases, tableMs: number): Look {
  const watches = new Map<number, AutovacuumWatch>()
  return {
    name: 'autovacuum',
    everyMs: 1_000,
    look: async ({ host, ask }) => {
      const watch = watches.get(host.id) ?? new AutovacuumWatch(databases, host.id, tableMs)
      watches.set(host.id, watch)
      return watch.look(await ask<Worker>(workers, [tenantDatabasePattern(databases.namespace), leastMs]))
    },
  }
}

type Worker = Readonly<{
  pid: number
  xactStart: string
  database: string
  relations: readonly number[]
  ms: number
}>

type Table = Readonly<{ schema: string; name: string; owner: string; bytes: number }>

class AutovacuumWatch {
  readonly #databases: Databases
  readonly #hostId: number
  readonly #tableMs: number
  /** Until when a database has little time. */
  readonly #strictUntil = new Map<string, number>()
  readonly #judging = new Set<string>()
  /** What was ended since the last look. */
  #ended: Ended[] = []

  constructor(databases: Databases, hostId: number, tableMs: number) {
    this.#databases = databases
    this.#hostId = hostId
    this.#tableMs = tableMs
  }

  look(found: readonly Worker[]): readonly Ended[] {
    for (const worker of found) if (worker.ms > this.#patienceMs(worker.database)) this.#judge(worker)
    const ended = this.#ended
    this.#ended = []
    return ended
  }

  #patienceMs(database: string): number {
    const isStrict = (this.#strictUntil.get(database) ?? 0) > performance.now()
    return isStrict ? Math.min(leastMs, this.#tableMs) : this.#tableMs
  }

  /** In the background: the database of the table has to be asked, and a look may not wait for that. */
  #judge(worker: Worker): void {
    const key = `${worker.pid} ${worker.xactStart}`
    if (this.#judging.has(key)) return
    this.#judging.add(key)
    const { admin, hosts } = this.#databases
    void admin
      .use(adminTarget(hosts, this.#hostId, worker.database), (session) => this.#end(session, worker))
      .catch(() => undefined)
      .finally(() => this.#judging.delete(key))
  }

  async #end(session: Session, worker: Worker): Promise<void> {
    const { rows } = await session.query<Table>(tableOf, [worker.relations])
    const table = rows[0]
    if (!table || worker.ms < this.#patienceMs(worker.database) + table.bytes / bytesPerMs) return
    const { rowCount } = await session.query(endWorker, [worker.pid, worker.xactStart])
    if (!rowCount) return
    this.#strictUntil.set(worker.database, performance.now() + strictMs)
    const name = `${quoteIdentifier(table.schema)}.${quoteIdentifier(table.name)}`
    this.#ended.push({
      role: table.owner,
      why: `kept autovacuum at the table ${name} of ${worker.database}, for which it is off now`,
      table: name,
    })
    await session.query(`set lock_timeout = '1s'; alter table ${name} set (autovacuum_enabled = off)`)
  }
}

/** Not those that prevent wraparound: they compute no expression, and the cluster needs them. */
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

/** If it still is at the same table; waits for its end, as it has the table locked. */
const endWorker = `
  select pg_catalog.pg_terminate_backend(pid, 1000) from pg_catalog.pg_stat_activity
  where pid = $1 and xact_start = $2::timestamptz and backend_type = 'autovacuum worker'`

const leastMs = 2_000
const strictMs = 60 * 60_000
/** 4 MB in a second: autovacuum reads ten times as many, with its pauses. */
const bytesPerMs = 4_000
