import type { ClientBase, Pool, PoolClient } from 'pg'
import type { Log } from '../log.ts'
import { isConnectionLoss } from '../postgres/sqlstate.ts'

/** Runs on the listening connection: the others may all be waiting for it. */
export type CatchUp = (client: ClientBase) => Promise<void>

/**
 * Keeps the caches of all processes true. A process may trust its cache only while it holds `cacheLock` in shared
 * mode on its listening connection; whoever changes an account announces it in the transaction and then, before
 * answering, takes the lock exclusively for a moment. So once the change is answered, no process anywhere still
 * trusts what it knew before. A process that dies loses the lock with its connection.
 *
 * The gate before the lock is closed meanwhile: else a process could let go and come back before the one that
 * waits for it has joined the queue, and that one would wait in vain.
 */
export class ChangeFeed {
  readonly #control: Pool
  readonly #log: Log
  readonly #onChange: () => void
  readonly #catchUp: CatchUp
  #client: PoolClient | null = null
  #isTrusted = false
  #turn: Promise<void> = Promise.resolve()
  #retry: NodeJS.Timeout | undefined
  #isStopped = false

  /** `onChange` forgets what may have changed; `catchUp` learns what every process must know once a change is answered. */
  constructor(control: Pool, log: Log, onChange: () => void, catchUp: CatchUp) {
    this.#control = control
    this.#log = log
    this.#onChange = onChange
    this.#catchUp = catchUp
  }

  get isTrusted(): boolean {
    return this.#isTrusted
  }

  /** Begins to listen; afterwards reconnects by itself until stopped. */
  async start(): Promise<void> {
    if (this.#isStopped) return
    try {
      await this.#listen()
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot listen for changes of accounts')
      this.#startLater()
    }
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#retry)
    this.#drop(this.#client)
  }

  #startLater(): void {
    if (!this.#isStopped) this.#retry = setTimeout(() => this.start(), retryMs)
  }

  async #listen(): Promise<void> {
    const client = await this.#control.connect()
    this.#client = client
    client.on('notification', () => this.#yieldTurn(client))
    client.on('error', () => this.#drop(client))
    client.on('end', () => this.#drop(client))
    await this.#inTurn(client, async () => {
      await client.query(`listen ${channel}`)
      await client.query('select pg_catalog.pg_advisory_lock_shared($1)', [presenceLock])
      await this.#catchUp(client)
      await this.#trust(client)
    })
  }

  /** Stops trusting, lets a waiting change pass, trusts again. */
  #yieldTurn(client: PoolClient): void {
    this.#forget()
    this.#inTurn(client, async () => {
      this.#forget()
      await this.#catchUp(client)
      await client.query('select pg_catalog.pg_advisory_unlock_shared($1)', [cacheLock])
      await this.#trust(client)
    })
  }

  /** One turn after the other: each takes the lock once and gives it back once. */
  #inTurn(client: PoolClient, work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      if (this.#client !== client) return
      await work().catch((error: unknown) => {
        this.#log.warn({ err: error }, 'cannot follow the changes of accounts')
        this.#drop(client)
      })
    })
    return this.#turn
  }

  async #trust(client: PoolClient): Promise<void> {
    await client.query('select pg_catalog.pg_advisory_lock_shared($1)', [gateLock])
    await client.query('select pg_catalog.pg_advisory_unlock_shared($1)', [gateLock])
    await client.query('select pg_catalog.pg_advisory_lock_shared($1)', [cacheLock])
    if (this.#client !== client) return
    this.#onChange()
    this.#isTrusted = true
  }

  #forget(): void {
    this.#isTrusted = false
    this.#onChange()
  }

  #drop(client: PoolClient | null): void {
    if (!client || this.#client !== client) return
    this.#client = null
    this.#forget()
    client.release(true)
    this.#startLater()
  }
}

/** Part of the transaction that changes an account or a key. */
export async function announceChange(tx: ClientBase): Promise<void> {
  await tx.query('select pg_catalog.pg_notify($1, $2)', [channel, ''])
}

/** After the commit and before the answer: waits until no process trusts what it knew before. */
export async function awaitCaches(control: Pool, log: Log): Promise<void> {
  const client = await control.connect()
  try {
    await client.query('select pg_catalog.pg_advisory_lock($1)', [gateLock])
    await announceChange(client)
    // A process that is stopped (not dead) must not hold up the others for ever.
    await client.query(
      `begin; set local lock_timeout = '2s'; select pg_catalog.pg_advisory_xact_lock(${cacheLock}); commit`,
    )
    await client.query('select pg_catalog.pg_advisory_unlock($1)', [gateLock])
    client.release()
  } catch (error) {
    log.warn({ err: error }, 'a process did not confirm a change of accounts in time')
    client.release(true)
    if (isConnectionLoss(error)) throw error
  }
}

/** How many processes are at work on this control database. */
export async function countProcesses(control: Pool): Promise<number> {
  const { rows } = await control.query<{ count: number }>(
    `select count(*)::integer as count from pg_catalog.pg_locks
     where locktype = 'advisory' and objid = $1 and mode = 'ShareLock' and granted
       and database = (select oid from pg_catalog.pg_database where datname = current_database())`,
    [presenceLock],
  )
  return rows[0]!.count
}

const channel = 'cartage_accounts'
const cacheLock = 7238002
const gateLock = 7238006
/** Held by every process for as long as it listens. */
const presenceLock = 7238007
const retryMs = 250
