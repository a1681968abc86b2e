import { randomInt } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Client, QueryResult, QueryResultRow } from 'pg'
import type { AppError } from '../errors.ts'
import type { SessionTarget } from './session-target.ts'
import { cancelStatement } from './wire/cancel.ts'
import { dropWhenSilent, limitSilence, socketOf, traffic } from './wire/drop-when-silent.ts'
import type { WireHandler, WireOutcome } from './wire/wire-handler.ts'
import { WireQuery, type WireText } from './wire/wire-query.ts'

type Owner = Readonly<{
  onClean: (session: Session) => void
  /** `isCut`: in the middle of a statement, so that its backend may still be at work. */
  onGone: (session: Session, isCut: boolean) => void
}>

/** One connection, lent to one caller at a time. Give it back with `release`, or `destroy` it on any doubt. */
export class Session {
  readonly target: SessionTarget
  readonly client: Client
  lastUsed = performance.now()
  /** Its host has moved: whoever has it may end what was begun, and nobody gets it next. */
  isLeftBehind = false
  /** What is to be done when it is free again, while somebody has it. */
  onFree: (() => void) | null = null
  readonly #owner: Owner
  readonly #answerMs: number
  #transactionStatus: WireOutcome['transactionStatus'] = 'I'
  #running: WireQuery | null = null
  /** An answer is due for which there is a limit. */
  #isAsking = false
  #isClean = true
  #isIdle = false
  #idleTimer: NodeJS.Timeout | undefined
  #ended: Promise<void> | null = null
  #endReason: AppError | null = null

  /** `answerMs`: the longest silence before an answer to `query`, and while it is cleaned. */
  constructor(target: SessionTarget, client: Client, answerMs: number, owner: Owner) {
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

  /** Bytes that have gone either way, while a statement of a caller waits for the server; else undefined. */
  get trafficWhileWaiting(): number | undefined {
    return this.#running?.isServersTurn ? traffic(socketOf(this.client)) : undefined
  }

  /** Why its backend was ended, or is about to be, if somebody of ours does that: what its caller is to be told. */
  get endReason(): AppError | null {
    return this.#endReason
  }

  endFor(reason: AppError | null): void {
    this.#endReason = reason
  }

  query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<R>> {
    return this.onClient(() => this.#ask(() => this.client.query<R>(text, values)))
  }

  /**
   * Asks with one statement of ours that only reads. It is planned once on a connection, under its name, and leaves
   * nothing else behind: a clean session stays clean. For the administrator's sessions: a tenant could exchange what
   * the name stands for.
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

  /** For work on the `pg` client itself, however long it takes. */
  async onClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
    this.#isClean = false
    try {
      const result = await work(this.client)
      this.#transactionStatus = this.client.getTransactionStatus() ?? 'E'
      return result
    } catch (error) {
      // `pg` rejects before the server has said how it stands, so a rollback is due in any case.
      this.#transactionStatus = 'E'
      throw error
    }
  }

  /** Until it is given back, answers are waited for no longer than this. */
  expectAnswersWithin(answerMs: number): void {
    limitSilence(this.client, answerMs)
  }

  /** Starts one message, or several at once, whose answers go to `handler` straight from the wire. */
  send(text: string | readonly WireText[], handler: WireHandler): WireQuery {
    this.#isClean = false
    const query = new WireQuery(this.client, typeof text === 'string' ? [text] : text, handler)
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

  /** Closes the socket at once: the server rolls back whatever was open. */
  destroy(): Promise<void> {
    this.#ended ??= this.#end()
    return this.#ended
  }

  /** Closes it if nobody takes it for so long. One timer serves all its waits: to set one anew takes longer. */
  waitIdle(idleMs: number): void {
    this.#isIdle = true
    if (this.#idleTimer) this.#idleTimer.refresh()
    else this.#idleTimer = setTimeout(() => this.#isIdle && this.destroy(), idleMs).unref()
  }

  takeFromIdle(): void {
    this.#isIdle = false
  }

  /** Makes it as new, for the next statement of the same caller. */
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
   * Temp tables, settings, prepared statements, cursors, LISTEN and advisory locks all go with DISCARD ALL. The seed of
   * random() does not, nor does what the libraries of some extensions keep. Strangers share a role, and so its connections:
   * the procedure sets a new seed, and fails where such an extension is installed, so that the connection is destroyed.
   */
  get cleaning(): readonly string[] {
    return this.target.isAnonymous
      ? ['discard all', `call cartodb._CDB_ReuseSession(${randomSeed()})`]
      : ['discard all']
  }

  /** The last that the caller sent was the cleaning, and it worked. */
  noteClean(): void {
    this.#isClean = true
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
    if (busy) stream.destroy()
    else {
      await Promise.race([this.client.end().catch(() => undefined), destroyLater(stream)])
    }
  }
}

/** `pg` remembers what it has prepared by name; the server has dropped it. */
function forgetPrepared(client: Client): void {
  const { connection } = client as unknown as { connection: { parsedStatements: Record<string, string> } }
  connection.parsedStatements = {}
}

const randomSeed = () => randomInt(2 ** 47) / 2 ** 47

/** A peaceful goodbye gets a moment, then the socket is closed. */
function destroyLater(stream: Socket): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => {
      stream.destroy()
      resolve()
    }, 1_000).unref()
  })
}
