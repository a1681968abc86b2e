import { type AppError, errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import type { Flow, Session } from '../postgres/session.ts'
import type { WireHandler, WireOutcome } from '../postgres/wire/wire-handler.ts'
import type { WireQuery, WireText } from '../postgres/wire/wire-query.ts'
import { usageCounts } from '../usage/usage-counts.ts'
import { unlessAborted } from '../waiting/unless-aborted.ts'
import type { RunningStatement } from './running-statements.ts'
import { stopStatement } from './stop-statement.ts'
import { silenceTimeout, type TimeLimits, wholeTimeout } from './time-limits.ts'

export type StatementRunOptions = Readonly<{
  databases: Databases
  session: Session
  /** The statement as the operator sees it. */
  statement: RunningStatement
  limits: TimeLimits
  /** `read`: the session is in a transaction that cannot write. */
  access?: 'read' | undefined
  /** As in StatementOptions. */
  isAside?: boolean | undefined
  /** Fires when the client leaves. */
  gone: AbortLike
  /**
   * Keeps the session as the statement leaves it, with its transaction and settings. Called when the next statement may be
   * sent.
   */
  keep?: (() => void) | undefined
}>

export type RunHandler = WireHandler & {
  /** The statement is being stopped: stop producing data. */
  stopped?(): void
}

/**
 * One statement of a caller. It is stopped by its time limits, when the client leaves, or by the code that runs it. The
 * limits are measured here, because the caller's SQL could reset statement_timeout, which does not know who is slow, and a
 * COPY that waits for data ignores it. Owns its session until `release`.
 */
export class StatementRun {
  readonly session: Session
  readonly #options: StatementRunOptions
  readonly #startedAt = performance.now()
  readonly #flowBefore: Flow
  #flowedAt = this.#startedAt
  #watchdog: NodeJS.Timeout
  #handler: RunHandler = {}
  #wire: WireQuery | null = null
  /** Settles when the work on the session has ended. */
  #running: Promise<unknown> | null = null
  /** Aborts the work of `prepare`. */
  #preparing: AbortController | null = null
  #isOver = false
  #isReleased = false
  #stopReason: AppError | null = null
  #isTimedOut = false
  /** Settles when no cancel request is in flight. */
  #stopped: Promise<void> | null = null

  constructor(options: StatementRunOptions) {
    this.session = options.session
    this.#options = options
    this.#flowBefore = options.session.flow
    const { whole, silence = whole } = options.limits
    this.#watchdog = setTimeout(this.#watch, Math.min(whole.ms, silence.ms))
    options.gone.addEventListener('abort', this.#onGone)
    options.statement.runs(this)
  }

  /** Sends one message, or several at once. Settles like `WireQuery.done`. */
  send(text: string | readonly WireText[], handler: RunHandler): Promise<WireOutcome> {
    if (this.#stopReason && !this.#wire) return Promise.reject(this.#stopReason)
    this.#handler = handler
    this.#wire = this.session.send(text, handler)
    this.#running = this.#wire.done
    if (this.#options.gone.aborted) queueMicrotask(this.#onGone)
    return this.#wire.done
  }

  /** Runs our own queries on the session. They can be stopped like a statement. */
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

  /** Awaits work that must finish before the statement is sent. Rejects if the run is stopped first. */
  prepare<T>(work: Promise<T>): Promise<T> {
    this.#preparing = new AbortController()
    if (this.#options.gone.aborted) this.#onGone()
    return unlessAborted(this.#preparing.signal, work)
  }

  get databases(): Databases {
    return this.#options.databases
  }

  /** Only after the statement has been sent. */
  get wire(): WireQuery {
    return this.#wire!
  }

  /** Null if it was not stopped. */
  get stopReason(): AppError | null {
    return this.#stopReason
  }

  /** After a failure: the reason, if we stopped the statement or ended the session. */
  get failReason(): AppError | null {
    return this.#stopReason ?? this.session.endReason
  }

  /** Stopped by the time limit. If the statement completed all the same, its own outcome counts. */
  get isTimedOut(): boolean {
    return this.#isTimedOut
  }

  /** Answered: the connection may already run another statement. Do not touch it. */
  get isOver(): boolean {
    return this.#isOver
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt
  }

  /** The limit that is over, as an error. */
  get overTime(): AppError | null {
    const { whole, silence } = this.#options.limits
    if (this.elapsedMs >= whole.ms) return wholeTimeout(whole)
    return silence && this.#silentMs >= silence.ms ? silenceTimeout(silence) : null
  }

  /** Rows came, or PostgreSQL may send again after it had to wait for us: its silence begins anew. */
  flowed(): void {
    this.#flowedAt = performance.now()
  }

  /** Its session goes on with more statements of the caller: it is not cleaned. */
  get isKept(): boolean {
    return this.#options.keep !== undefined
  }

  /** The statement runs in a transaction that cannot write, and the transaction stays open after it. */
  get isReadOnly(): boolean {
    return this.#options.access === 'read'
  }

  /** What may be sent after the text, so that the next caller can have the session. */
  get cleaning(): readonly string[] {
    if (this.isKept) return []
    return this.isReadOnly ? ['rollback', ...this.session.cleaning] : this.session.cleaning
  }

  /** Cancels the statement. Only the first reason counts. */
  stop(reason: AppError): void {
    if (this.#isOver || this.#stopReason) return
    this.#stopReason = reason
    this.#preparing?.abort(reason)
    if (!this.#running) return
    this.#handler.stopped?.()
    // A server blocked in writing to us does not see a cancel.
    this.#wire?.resume()
    this.#stopped = stopStatement(this.#options.databases, this.session, this.#running)
  }

  /** The statement has been answered, or its connection is lost. Disarms the timer. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#watchdog)
    this.#options.gone.removeEventListener('abort', this.#onGone)
    this.#options.statement.end()
    this.#count()
    this.#wire?.resume()
  }

  /** What the account has used. A statement of a session, and the reader of an export, come without a request of its own. */
  #count(): void {
    const { databases, statement, isAside } = this.#options
    const { kind, principal } = statement
    usageCounts(databases).add(principal.account.userId, kind, {
      ...this.session.flowSince(this.#flowBefore),
      postgresMs: this.elapsedMs,
      requests: !isAside && (kind === 'session' || kind === 'export') ? 1 : 0,
    })
  }

  /** Releases the session if no statement was sent. */
  releaseUnsent(): void | Promise<void> {
    if (!this.#wire) return this.release()
  }

  /** Releases the session, after any cancel in flight: it must not hit the next statement on the connection. */
  release(): void | Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    this.end()
    const { keep = () => this.session.release() } = this.#options
    if (this.#stopped) return this.#stopped.then(keep)
    keep()
  }

  /** How long PostgreSQL has worked without sending a row. */
  get #silentMs(): number {
    return this.#wire && !this.#wire.isServersTurn ? 0 : performance.now() - this.#flowedAt
  }

  readonly #watch = (): void => {
    const reason = this.overTime
    if (reason) {
      this.#isTimedOut = this.#stopReason === null
      this.stop(reason)
      return
    }
    const { whole, silence } = this.#options.limits
    const leftMs = whole.ms - this.elapsedMs
    const quietLeftMs = silence ? silence.ms - this.#silentMs : leftMs
    this.#watchdog = setTimeout(this.#watch, Math.min(leftMs, quietLeftMs))
  }

  readonly #onGone = () => this.stop(errors.clientLeft())
}
