import type { Client, QueryResult, QueryResultRow } from 'pg'
import { cancelStatement } from './cancel.ts'
import type { SessionTarget } from './session-target.ts'
import { type WireHandler, type WireOutcome, WireQuery } from './wire-query.ts'

type Owner = Readonly<{ onClean: (session: Session) => void; onGone: (session: Session) => void }>

/** One connection, lent to one caller at a time. Give it back with `release`, or `destroy` it on any doubt. */
export class Session {
  readonly target: SessionTarget
  /** For streams that work on the `pg` client itself, such as COPY FROM. */
  readonly client: Client
  lastUsed = Date.now()
  readonly #owner: Owner
  #transactionStatus: WireOutcome['transactionStatus'] = 'I'
  #running: WireQuery | null = null
  #isClean = true
  #idleTimer: NodeJS.Timeout | undefined
  #ended: Promise<void> | null = null

  constructor(target: SessionTarget, client: Client, owner: Owner) {
    this.target = target
    this.client = client
    this.#owner = owner
    client.once('end', () => this.destroy())
    client.on('error', () => this.destroy())
  }

  get processId(): number {
    return (this.client as unknown as { processID: number }).processID
  }

  get isAlive(): boolean {
    return this.#ended === null
  }

  async query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<R>> {
    this.#isClean = false
    try {
      const result = await this.client.query<R>(text, values)
      this.#transactionStatus = this.client.getTransactionStatus() ?? 'E'
      return result
    } catch (error) {
      // `pg` rejects before the server has said how it stands, so a rollback is due in any case.
      this.#transactionStatus = 'E'
      throw error
    }
  }

  /** Starts one simple-protocol message, or several at once, whose answers go to `handler` straight from the wire. */
  send(text: string | readonly string[], handler: WireHandler): WireQuery {
    this.#isClean = false
    const query = new WireQuery(this.client, text, handler)
    this.#running = query
    query.done.then(
      ({ transactionStatus }) => {
        this.#transactionStatus = transactionStatus
        this.#running = null
      },
      () => this.destroy(),
    )
    return query
  }

  /** Asks the server to stop the running statement; its own outcome tells when it has. */
  cancel(): Promise<void> {
    return cancelStatement(this.client)
  }

  /** Cleans the connection and gives it back; what cannot be cleaned is destroyed. */
  release(): void {
    if (this.#running) {
      this.destroy()
      return
    }
    this.clean().then(
      () => this.isAlive && this.#owner.onClean(this),
      () => this.destroy(),
    )
  }

  /** Closes the socket at once: the server rolls back whatever was open. */
  destroy(): Promise<void> {
    this.#ended ??= this.#end()
    return this.#ended
  }

  waitIdle(idleMs: number): void {
    this.#idleTimer = setTimeout(() => this.destroy(), idleMs)
    this.#idleTimer.unref()
  }

  takeFromIdle(): void {
    clearTimeout(this.#idleTimer)
  }

  /** Makes it as new, for the next statement of the same caller. */
  async clean(): Promise<void> {
    if (this.#isClean) return
    // Temp tables, settings, prepared statements, cursors, LISTEN and advisory locks all go with DISCARD ALL.
    if (this.#transactionStatus !== 'I') await this.client.query('rollback')
    await this.client.query('discard all')
    this.#transactionStatus = 'I'
    this.#isClean = true
  }

  /** The last that the caller sent was DISCARD ALL, and it worked. */
  noteClean(): void {
    this.#isClean = true
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer)
    const { stream } = (this.client as unknown as { connection: { stream: { destroy(): void } } }).connection
    const busy = this.#running !== null
    this.#owner.onGone(this)
    if (busy) stream.destroy()
    else {
      await Promise.race([this.client.end().catch(() => undefined), destroyLater(stream)])
    }
  }
}

/** A peaceful goodbye gets a moment, then the socket is closed. */
function destroyLater(stream: { destroy(): void }): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => {
      stream.destroy()
      resolve()
    }, 1_000).unref()
  })
}
