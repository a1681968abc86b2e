import { type AppError, errors } from '../errors.ts'
import type { Databases } from './databases.ts'
import type { Interruption } from './pools/interruption.ts'
import type { Session } from './session.ts'
import { stopStatement } from './stop-statement.ts'
import type { WireHandler, WireOutcome } from './wire/wire-handler.ts'
import type { WireQuery, WireText } from './wire/wire-query.ts'

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
 * One statement of a caller that can be stopped: by its time limit, when the client leaves, or by whoever runs it. The
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
  #isOver = false
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
    this.#handler = handler
    this.#wire = this.session.send(text, handler)
    if (this.#options.gone.aborted) queueMicrotask(this.#onGone)
    return this.#wire.done
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
    this.#handler.stopped?.()
    // A server that is stuck in writing to us does not hear a cancel.
    this.wire.resume()
    this.#stopped = stopStatement(this.#options.databases, this.session, this.wire.done)
  }

  /** The statement has been answered, or its connection is lost: there is nothing to stop any more. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#watchdog)
    this.#options.gone.removeEventListener('abort', this.#onGone)
    this.wire.resume()
  }

  /** Gives the session back. A cancel that is still on its way must not hit whoever gets the connection next. */
  release(): void | Promise<void> {
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
