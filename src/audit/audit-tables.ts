import { randomUUID } from 'node:crypto'
import type { Log } from '../log/log.ts'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { tenantDatabasePattern } from '../postgres/tenant-names.ts'
import { collectTableNotes } from './collect-table-notes.ts'
import {
  claimLook,
  type Inserted,
  type NotedDatabase,
  placeOf,
  recordInserted,
  writtenDatabases,
} from './table-note-store.ts'

/**
 * Collects the notes of tables that tenants have dropped, renamed or made public. One query per host finds the
 * databases that were written to; only these are asked. One process looks at a host at a time.
 */
export class AuditTables {
  readonly #databases: Databases
  readonly #log: Log
  readonly #claim = randomUUID()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isStopped = false

  constructor(databases: Databases, log: Log) {
    this.#databases = databases
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), lookMs).unref()
  }

  /** What is not collected yet stays in the tenants' databases. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#isStopped = true
    await this.#looking
  }

  #look(): Promise<void> {
    const { hosts } = this.#databases
    // A host that does not answer does not hold up the others.
    this.#looking ??= Promise.all(hosts.forTenants().map(({ id }) => this.#lookAt(id)))
      .then(() => undefined)
      .finally(() => {
        this.#looking = undefined
      })
    return this.#looking
  }

  async #lookAt(hostId: number): Promise<void> {
    const { control } = this.#databases
    try {
      const claim = (forMs: number) => claimLook(control, hostId, this.#claim, forMs)
      if (!(await claim(claimMs))) return
      for (const place of await writtenDatabases(control, hostId, await this.#inserted(hostId))) {
        if (this.#isStopped || !(await claim(claimMs))) break
        await this.#collect(place)
      }
      // The others wait as long as this process does; not at all for one that stops.
      await claim(this.#isStopped ? 0 : 2 * lookMs)
    } catch (error) {
      this.#log.warn({ err: error, hostId }, 'cannot look for notes of tables on a database host')
    }
  }

  /** PostgreSQL counts a row after its transaction has ended. So a count taken before we read the notes misses none. */
  async #inserted(hostId: number): Promise<readonly Inserted[]> {
    const { admin, hosts, namespace } = this.#databases
    const { rows } = await admin.use(adminTarget(hosts, hostId), (session) =>
      session.query<Inserted>(
        `select datname::text as database, tup_inserted::text as inserted
         from pg_catalog.pg_stat_database where datname ~ $1`,
        [tenantDatabasePattern(namespace)],
      ),
    )
    return rows
  }

  /** A database that cannot be asked now is asked again. */
  async #collect(place: NotedDatabase & Inserted): Promise<void> {
    try {
      const isDone = await collectTableNotes(this.#databases, place)
      if (isDone) await recordInserted(this.#databases.control, place)
    } catch (error) {
      // Not migrated yet.
      if (hasSqlstate(error, sqlstate.undefinedTable)) return
      const { database } = place
      this.#log.warn({ err: error, database }, 'cannot collect the notes of tables of a tenant')
    }
  }
}

const lookMs = 5_000
/** Longer than the notes of one database take. */
const claimMs = 60_000

/**
 * The last notes of a database that is about to be dropped, and of one whose copy on another host takes its place. Its
 * tenants can make no more.
 */
export async function collectLastNotes(
  databases: Databases,
  hostId: number,
  database: string,
): Promise<void> {
  const place = await placeOf(databases.control, hostId, database)
  if (place && !(await collectTableNotes(databases, place, mostLastBatches)))
    throw new Error('notes of tables are left')
}

/** About a thousand notes of each member of an organization. */
const mostLastBatches = 1_000
