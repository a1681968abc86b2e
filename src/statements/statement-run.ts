import { type AppError, errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Interruption } from '../postgres/pools/interruption.ts'
import type { Session } from '../postgres/session.ts'
import type { WireHandler, WireOutcome } from '../postgres/wire/wire-handler.ts'
import type { WireQuery, WireText } from '../postgres/wire/wire-query.ts'
import { unlessAborted } from '../waiting/unless-aborted.ts'
import { stopStatement } from './stop-statement.ts'

export type StatementRunOptions = Readonly<{
  databases: Databases
  session: Session
  limitMs: number
  /** Fires when the client leaves. */
  gone: Interruption
}>

export type RunHandler = WireHandler & {
  /** The statement is being stopped: no more data is wanted. */
  stopped?(): void
}

/**
 * One statement of a caller that can be stopped: by its time limit, when the client leaves, or by the code that runs it. The
 * limit is kept here, because the caller's SQL could switch off a setting, and a COPY that waits for data does not look
 * at it. Owns its session, until `release`.
 */
export class StatementRun {
  readonly session: Session
  readonly #options: StatementRunOptions
  readonly #startedAt = performance.now()
  readonly #watchdog: NodeJS.Timeout
  #handler: RunHandler = {}
  #wire: WireQuery | null = null
  /** What runs on the session: settles when it has ended. */
  #running: Promise<unknown> | null = null
  /** Work before the statement. */
  #preparing: AbortController | null = null
  #isOver = false
  #isReleased = false
  #stopReason: AppError | null = null
  #isTimedOut = false
  /** Settles when no cancel is on its way any more. */
  #stopped: Promise<void> | null = null

  constructor(options: StatementRunOptions) {
    this.session = options.session
    this.#options = options
    this.#watchdog = setTimeout(() => this.#timeOut(), options.limitMs)
    options.gone.addEventListener('abort', this.#onGone)
  }

  /** Sends one message, or several at once. Settles like `done` of the wire. */
  send(text: string | readonly WireText[], handler: RunHandler): Promise<WireOutcome> {
    if (this.#stopReason && !this.#wire) return Promise.reject(this.#stopReason)
    this.#handler = handler
    this.#wire = this.session.send(text, handler)
    this.#running = this.#wire.done
    if (this.#options.gone.aborted) queueMicrotask(this.#onGone)
    return this.#wire.done
  }

  /** Runs queries of ours on the session; they are stopped as a statement is. */
  async watch<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const running = work(this.session)
    this.#running = running
    if (this.#options.gone.aborted) queueMicrotask(this.#onGone)
    try {
      return await running
    } catch (error) {
      throw this.failReason ?? error
    }
  }

  /** What `work` answers, unless the run is stopped first: for what must be known before the statement is sent. */
  prepare<T>(work: Promise<T>): Promise<T> {
    this.#preparing = new AbortController()
    if (this.#options.gone.aborted) this.#onGone()
    return unlessAborted(this.#preparing.signal, work)
  }

  /** Once the statement has been sent. */
  get wire(): WireQuery {
    return this.#wire!
  }

  /** Why it was stopped; null if it was not. */
  get stopReason(): AppError | null {
    return this.#stopReason
  }

  /** Why it failed, once it has, if that was our doing. */
  get failReason(): AppError | null {
    return this.#stopReason ?? this.session.endReason
  }

  /** It was stopped by its time limit. If it has ended all the same, its own outcome counts. */
  get isTimedOut(): boolean {
    return this.#isTimedOut
  }

  /** It has been answered: the connection may be somebody else's, and must not be touched any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt
  }

  get isOverTime(): boolean {
    return this.elapsedMs >= this.#options.limitMs
  }

  /** Stops the statement, so that nothing stays of it. The first reason counts. */
  stop(reason: AppError): void {
    if (this.#isOver || this.#stopReason) return
    this.#stopReason = reason
    this.#preparing?.abort(reason)
    if (!this.#running) return
    this.#handler.stopped?.()
    // A server that is stuck in writing to us does not hear a cancel.
    this.#wire?.resume()
    this.#stopped = stopStatement(this.#options.databases, this.session, this.#running)
  }

  /** The statement has been answered, or its connection is lost: there is nothing to stop any more. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#watchdog)
    this.#options.gone.removeEventListener('abort', this.#onGone)
    this.#wire?.resume()
  }

  /** Gives the session back if no statement was sent. */
  releaseUnsent(): void | Promise<void> {
    if (!this.#wire) return this.release()
  }

  /** Gives the session back. A cancel that is still on its way must not hit the next statement on the connection. */
  release(): void | Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    this.end()
    if (this.#stopped) return this.#stopped.then(() => this.session.release())
    this.session.release()
  }

  #timeOut(): void {
    this.#isTimedOut = this.#stopReason === null
    this.stop(errors.statementTimeout())
  }

  readonly #onGone = () => this.stop(errors.clientLeft())
}
