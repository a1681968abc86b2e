import pg from 'pg'
import type { Config } from '../../config/config.ts'
import { errors } from '../../errors.ts'
import type { Log } from '../../log/log.ts'
import type { Host } from '../hosts.ts'
import { sessionOptions } from '../pools/session-options.ts'
import { connectToPrimary, isAbsent, type Primary } from '../primary.ts'
import { hasSqlstate, isPoolClosed, isPoolFull } from '../sqlstate.ts'
import {
  dropWhenSilent,
  keepAlive,
  limitSilence,
  serverKeepAlive,
  socketOf,
} from '../wire/drop-when-silent.ts'
import { ScramClient } from '../wire/scram-client.ts'

/** Connections to the control database. Every wait has a timeout: for a connection, a lock, an answer. */
export class ControlPool extends pg.Pool {
  readonly #waitMs: number
  readonly #primary: Primary
  readonly #releasedAt = new WeakMap<pg.ClientBase, number>()
  readonly #clients = new Set<pg.PoolClient>()
  readonly #openApart: () => ControlPool
  #apart: ControlPool | undefined
  #silentSince = Number.NEGATIVE_INFINITY

  constructor(config: Config, host: Host, log: Log, max = controlConnections - listeningConnections) {
    super({
      Client: clientOf(host.primary),
      ...keepAlive,
      user: host.adminRole,
      password: host.adminPassword,
      database: config.namespace,
      application_name: 'cartage control',
      options: sessionOptions(settings),
      max,
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: config.connectionWaitMs,
    })
    this.#waitMs = config.connectionWaitMs
    this.#primary = host.primary
    this.#openApart = () => new ControlPool(config, host, log, listeningConnections)
    this.on('error', (error) => log.warn({ err: error }, 'control connection lost'))
    this.on('connect', (client) => this.#watch(client))
    this.on('release', (_error, client) => {
      this.#releasedAt.set(client, performance.now())
      limitSilence(client, silentMs)
    })
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | undefined {
    if (!callback) return this.#trusted()
    this.#trusted().then(
      (client) => callback(undefined, client, client.release),
      (error: Error) => callback(error, undefined, () => undefined),
    )
    return undefined
  }

  /** A reserved connection, for listeners, leases and the worker's sign of life: requests cannot take it. */
  connectApart(): Promise<pg.PoolClient> {
    this.#apart ??= this.#openApart()
    const isFull = this.#apart.totalCount === listeningConnections && this.#apart.idleCount === 0
    // With more than one worker in a process, use an ordinary connection.
    return isFull ? this.connect() : this.#apart.connect()
  }

  override end(): Promise<void>
  override end(callback: () => void): void
  override end(callback?: () => void): Promise<void> | undefined {
    // Some connections may be borrowed, or not answer.
    setTimeout(() => {
      for (const client of this.#clients) socketOf(client).destroy()
    }, goodbyeMs).unref()
    if (!callback) return this.#endBoth()
    this.#endBoth().finally(callback)
    return undefined
  }

  async #endBoth(): Promise<void> {
    await Promise.all([super.end(), this.#apart?.end()])
  }

  /** If one connection was silent, do not trust those last used before that. */
  async #trusted(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#taken().catch((error: unknown) => {
        throw this.#explain(error)
      })
      if ((this.#releasedAt.get(client) ?? performance.now()) >= this.#silentSince) return client
      socketOf(client).destroy()
      client.release(true)
    }
  }

  /** An idle connection needs no search for the primary. */
  #taken(): Promise<pg.PoolClient> {
    const take = () => super.connect()
    return this.idleCount > 0 ? take() : connectToPrimary(this.#primary, take)
  }

  #watch(client: pg.PoolClient): void {
    this.#clients.add(client)
    client.on('end', () => this.#clients.delete(client))
    // Without a listener, losing a connection between two statements would end the process.
    client.on('error', (error) => {
      if (hasSqlstate(error, 'ETIMEDOUT')) this.#silentSince = performance.now()
    })
    dropWhenSilent(client, silentMs, () => !(client as unknown as { readyForQuery: boolean }).readyForQuery)
  }

  #explain(error: unknown): Error {
    if (isPoolFull(error)) return errors.connectionsExhausted(this.#waitMs)
    return isPoolClosed(error) ? errors.shuttingDown() : (error as Error)
  }
}

/** Raises the timeouts for the rest of a transaction that may touch any number of rows. */
export async function allowLongStatements(tx: pg.ClientBase): Promise<void> {
  await tx.query(`set local statement_timeout = ${longMs}`)
  limitSilence(tx, longMs + silentMs)
}

/** Clients that choose their address when the pool makes them, which may be long after a caller has asked for one. */
function clientOf(primary: Primary): new () => pg.ClientBase {
  return class extends ScramClient {
    constructor(options?: pg.ClientConfig) {
      const address = primary.guess
      // The pool hides the password from what lists its options.
      super({ ...options, ...address, password: options?.password })
      const connect = this.connect.bind(this)
      // The pool calls it in this form, and makes the next client before it reports an error to the caller.
      this.connect = ((done: (error: Error | null) => void) =>
        connect((error: Error | null) => {
          if (isAbsent(error)) primary.missed(address)
          done(error)
        })) as typeof this.connect
    }
  }
}

const longMs = 300_000
const goodbyeMs = 1_000

type ConnectCallback = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  // biome-ignore lint/suspicious/noExplicitAny: as the types of pg.Pool have it
  done: (release?: any) => void,
) => void

export const controlConnections = 12
/** Reserved from requests: one each for the lease, the job waiter and the worker. */
const listeningConnections = 3

/** Slightly longer than the statement timeout: PostgreSQL's own error proves that nothing was done. */
const silentMs = 6_000

const settings = {
  search_path: 'cartage,pg_catalog',
  // The job state needed after a crash must be on disk, whatever the server's default.
  synchronous_commit: 'on',
  // The queue's functions plan with sequential scans disabled. If no other plan exists, its cost looks so high that
  // PostgreSQL would compile it each time.
  jit: 'off',
  statement_timeout: 5_000,
  lock_timeout: 3_000,
  idle_in_transaction_session_timeout: 60_000,
  ...serverKeepAlive(15_000),
} as const
