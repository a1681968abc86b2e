import { randomInt } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Client, QueryResult, QueryResultRow } from 'pg'
import type { AppError } from '../errors.ts'
import type { SessionTarget } from './session-target.ts'
import { cancelStatement } from './wire/cancel.ts'
import { CollectedRows, type WireRow } from './wire/collected-rows.ts'
import { dropWhenSilent, limitSilence, socketOf, traffic } from './wire/drop-when-silent.ts'
import type { OwnText } from './wire/extended-messages.ts'
import { RowCounts } from './wire/row-counts.ts'
import type { WireHandler, WireOutcome } from './wire/wire-handler.ts'
import { WireQuery, type WireText } from './wire/wire-query.ts'

export type Flow = Readonly<{ rowsOut: number; rowsIn: number; bytesOut: number; bytesIn: number }>

type SessionOwner = Readonly<{
  onClean: (session: Session) => void
  /** `isCut`: in the middle of a statement, so the backend may still run. */
  onGone: (session: Session, isCut: boolean) => void
}>

/** One connection, lent to one caller at a time. The caller must `release` it, or `destroy` it when in doubt. */
export class Session {
  readonly target: SessionTarget
  readonly client: Client
  lastUsed = performance.now()
  /** Its host has moved: the borrower may finish; then the session is closed. */
  isLeftBehind = false
  /** Called when the borrower has released the session. */
  onFree: (() => void) | null = null
  /** Called when the connection has ended, for whatever reason. */
  onEnd: (() => void) | null = null
  readonly #owner: SessionOwner
  readonly #answerMs: number
  readonly #rows = new RowCounts()
  /** The names of the statements that `lookFast` has prepared. */
  readonly #prepared = new Set<string>()
  #transactionStatus: WireOutcome['transactionStatus'] = 'I'
  #running: WireQuery | null = null
  /** Waiting for an answer that has a time limit. */
  #isAsking = false
  #isClean = true
  #isIdle = false
  #idleTimer: NodeJS.Timeout | undefined
  #ended: Promise<void> | null = null
  #endReason: AppError | null = null

  /** `answerMs`: the longest silence while waiting for `query` or for cleaning. */
  constructor(target: SessionTarget, client: Client, answerMs: number, owner: SessionOwner) {
    this.target = target
    this.client = client
    this.#answerMs = answerMs
    this.#owner = owner
    dropWhenSilent(client, answerMs, () => this.#isAsking)
    client.once('end', () => this.destroy())
    client.on('error', () => this.destroy())
  }

  get processId(): number {
    return (this.client as unknown as { processID: number }).processID
  }

  get isAlive(): boolean {
    return this.#ended === null
  }

  /** After the last answer: in no transaction, in an open one, or in a failed one. */
  get transactionStatus(): WireOutcome['transactionStatus'] {
    return this.#transactionStatus
  }

  /** Rows and bytes since the connection was opened: out of PostgreSQL, and into it. */
  get flow(): Flow {
    const { bytesRead, bytesWritten } = socketOf(this.client)
    return { rowsOut: this.#rows.sent, rowsIn: this.#rows.stored, bytesOut: bytesRead, bytesIn: bytesWritten }
  }

  flowSince(then: Flow): Flow {
    const { flow } = this
    return {
      rowsOut: flow.rowsOut - then.rowsOut,
      rowsIn: flow.rowsIn - then.rowsIn,
      bytesOut: flow.bytesOut - then.bytesOut,
      bytesIn: flow.bytesIn - then.bytesIn,
    }
  }

  /** Bytes sent and received, while a caller's statement waits for the server; else undefined. */
  get trafficWhileWaiting(): number | undefined {
    return this.#running?.isServersTurn ? traffic(socketOf(this.client)) : undefined
  }

  /** Why we end this session's backend; reported to its caller. */
  get endReason(): AppError | null {
    return this.#endReason
  }

  endFor(reason: AppError | null): void {
    this.#endReason = reason
  }

  query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<R>> {
    return this.onClient(() => this.#ask(() => this.client.query<R>(text, values)))
  }

  /** Sends some of our statements together. Returns the rows of each; rejects with the first error, after which none is run. */
  ask(texts: readonly (string | OwnText)[]): Promise<readonly (readonly WireRow[])[]> {
    return this.#collect(texts, new CollectedRows())
  }

  #collect(
    texts: readonly (string | OwnText)[],
    rows: CollectedRows,
  ): Promise<readonly (readonly WireRow[])[]> {
    return this.#ask(async () => {
      const own = texts.map((text) => (typeof text === 'string' ? { sql: text } : text))
      // They are not rows of the caller's statements.
      await this.#send([own], rows, new RowCounts()).done
      return rows.whole()
    })
  }

  /**
   * Runs one of our read-only statements as a prepared statement, planned once per connection. Leaves the session clean
   * otherwise. Only on a session on which no code of a tenant has run: it could redefine a prepared statement.
   */
  async look<R extends QueryResultRow>(
    name: string,
    text: string,
    values: unknown[],
  ): Promise<QueryResult<R>> {
    const wasClean = this.#isClean
    const result = await this.onClient(() => this.#ask(() => this.client.query<R>({ name, text, values })))
    this.#isClean = wasClean
    return result
  }

  /** The same past `pg`, for values as text and an answer as bytes: nothing is described. */
  async lookFast(name: string, sql: string, values: readonly (string | null)[]): Promise<readonly WireRow[]> {
    const wasClean = this.#isClean
    const isPrepared = this.#prepared.has(name)
    // It stays prepared even if it fails.
    const answer = new CollectedRows(() => this.#prepared.add(name))
    const [rows] = await this.#collect([{ name, sql, values, isPrepared }], answer)
    this.#isClean = wasClean
    return rows!
  }

  /** For work on the `pg` client itself, without a time limit. */
  async onClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
    this.#isClean = false
    try {
      const result = await work(this.client)
      this.#transactionStatus = this.client.getTransactionStatus() ?? 'E'
      return result
    } catch (error) {
      // `pg` rejects before the server reports its transaction status, so always roll back.
      this.#transactionStatus = 'E'
      throw error
    }
  }

  /** Limits the wait for answers until the session is released. */
  expectAnswersWithin(answerMs: number): void {
    limitSilence(this.client, answerMs)
  }

  /** Sends one message, or several at once; `handler` gets the answers directly from the wire. */
  send(text: string | readonly WireText[], handler: WireHandler): WireQuery {
    return this.#send(typeof text === 'string' ? [text] : text, handler, this.#rows)
  }

  #send(texts: readonly WireText[], handler: WireHandler, counts: RowCounts): WireQuery {
    this.#isClean = false
    const query = new WireQuery(this.client, texts, handler, counts)
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

  /** Asks the server to cancel the running statement; the statement's own outcome tells when it stopped. */
  cancel(): Promise<void> {
    return cancelStatement(this.client)
  }

  /** Cleans the connection and returns it to the pool; destroys it if it cannot be cleaned. */
  release(): void {
    if (this.#running || this.#endReason) {
      this.destroy()
      return
    }
    this.expectAnswersWithin(this.#answerMs)
    if (this.#isClean) this.#giveBack()
    else
      this.clean().then(
        () => this.#giveBack(),
        () => this.destroy(),
      )
  }

  #giveBack(): void {
    if (this.isAlive) this.#owner.onClean(this)
  }

  /** Closes the socket at once: the server rolls back the open transaction. */
  destroy(): Promise<void> {
    this.#ended ??= this.#end()
    return this.#ended
  }

  /**
   * Closes the session after `idleMs` without use. One timer is refreshed for all waits, which is cheaper than a new
   * one.
   */
  waitIdle(idleMs: number): void {
    this.#isIdle = true
    if (this.#idleTimer) this.#idleTimer.refresh()
    else this.#idleTimer = setTimeout(() => this.#isIdle && this.destroy(), idleMs).unref()
  }

  takeFromIdle(): void {
    this.#isIdle = false
  }

  /** Resets it for the next statement of the same caller. */
  async clean(): Promise<void> {
    if (this.#isClean) return
    await this.#ask(async () => {
      if (this.#transactionStatus !== 'I') await this.client.query('rollback')
      for (const text of this.cleaning) await this.client.query(text)
    })
    this.#transactionStatus = 'I'
    this.noteClean()
  }

  /**
   * DISCARD ALL drops temp tables, settings, prepared statements, cursors, LISTEN and advisory locks. It does not reset
   * the seed of random(), nor state inside some extensions' libraries. Callers without a key share a role and so its
   * connections: for them the procedure sets a new seed, and fails if such an extension is installed, so that the
   * connection is destroyed.
   */
  get cleaning(): readonly string[] {
    return this.target.isAnonymous
      ? ['discard all', `call cartodb._CDB_ReuseSession(${randomSeed()})`]
      : ['discard all']
  }

  /** The caller's last message was the cleaning, and it succeeded. */
  noteClean(): void {
    this.#isClean = true
    this.#prepared.clear()
    forgetPrepared(this.client)
  }

  async #ask<T>(question: () => Promise<T>): Promise<T> {
    this.#isAsking = true
    try {
      return await question()
    } finally {
      this.#isAsking = false
    }
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer)
    const stream = socketOf(this.client)
    const busy = this.#running !== null
    this.#owner.onGone(this, busy && !stream.destroyed)
    this.onEnd?.()
    if (busy) stream.destroy()
    else {
      await Promise.race([this.client.end().catch(() => undefined), destroyLater(stream)])
    }
  }
}

/** `pg` still lists prepared statements that the server has dropped. */
function forgetPrepared(client: Client): void {
  const { connection } = client as unknown as { connection: { parsedStatements: Record<string, string> } }
  connection.parsedStatements = {}
}

const randomSeed = () => randomInt(2 ** 47) / 2 ** 47

/** Waits a moment for a regular end, then destroys the socket. */
function destroyLater(stream: Socket): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => {
      stream.destroy()
      resolve()
    }, 1_000).unref()
  })
}
