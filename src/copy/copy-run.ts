import { type AppError, errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Session } from '../postgres/session.ts'
import { stopStatement } from '../postgres/stop-statement.ts'
import { toClientError } from '../postgres/wire/wire-error.ts'
import type { WireHandler, WireQuery } from '../postgres/wire/wire-query.ts'
import { copyError } from './copy-error.ts'

export type CopyRunOptions = Readonly<{
  databases: Databases
  session: Session
  limitMs: number
  /** Fires when the client leaves. */
  gone: AbortSignal
}>

/** The two directions differ in what they do with the data. */
export type CopyHandler = Pick<WireHandler, 'copyData' | 'feedCopy' | 'copyDrained'> & {
  /** No more data is wanted. */
  stopped?: () => void
}

/**
 * One COPY on one connection, from the statement to the server's last word. Owns its session: by the time `rows`
 * settles it has been given back clean, or destroyed.
 */
export class CopyRun {
  /** The rows copied; rejects with what the client shall be told. */
  readonly rows: Promise<number>
  readonly wire: WireQuery
  readonly #options: CopyRunOptions
  readonly #handler: CopyHandler
  readonly #startedAt = performance.now()
  readonly #watchdog: NodeJS.Timeout
  #copied = 0
  #isOver = false
  #isStoring = false
  #stopReason: AppError | null = null
  #stopped: Promise<void> = Promise.resolve()

  constructor(options: CopyRunOptions, text: string, handler: CopyHandler) {
    this.#options = options
    this.#handler = handler
    this.wire = options.session.send(text, {
      ...handler,
      commandComplete: (tag) => {
        this.#copied = Number(/^COPY (\d+)$/.exec(tag)?.[1] ?? 0)
      },
    })
    // From outside: the tenant's SQL cannot switch it off, and a COPY that waits for data does not look at its timeout.
    this.#watchdog = setTimeout(() => this.stop(errors.statementTimeout()), options.limitMs)
    options.gone.addEventListener('abort', this.#onGone, { once: true })
    this.rows = this.#end()
    if (options.gone.aborted) queueMicrotask(this.#onGone)
  }

  /** Nothing may be done to the connection any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  get isStopped(): boolean {
    return this.#stopReason !== null
  }

  /** Ends the COPY, so that nothing stays of it; `rows` will reject with `reason`. */
  stop(reason: AppError): void {
    if (this.#isOver || this.#stopReason) return
    this.#stopReason = reason
    this.#handler.stopped?.()
    // A server that is stuck in writing to us does not hear a cancel.
    this.wire.resume()
    this.#stopped = stopStatement(this.#options.databases, this.#options.session, this.wire.done)
  }

  /** The client has sent everything: let the server store it. */
  store(): void {
    this.#isStoring = true
    this.wire.finishCopy()
  }

  readonly #onGone = () => this.stop(errors.clientLeft())

  async #end(): Promise<number> {
    const { session, gone } = this.#options
    try {
      const { error } = await this.wire.done.catch((lost: unknown) => this.#lost(lost))
      // Whatever was asked for in the meantime: the server has stored it.
      if (this.#isStoring && !error) return this.#copied
      if (this.#stopReason) throw this.#stopReason
      if (error) throw copyError(error, this.#isOverTime())
      return this.#copied
    } finally {
      this.#isOver = true
      clearTimeout(this.#watchdog)
      gone.removeEventListener('abort', this.#onGone)
      this.wire.resume()
      // A cancel that is still on its way must not hit whoever gets the connection next.
      await this.#stopped
      session.release()
    }
  }

  #lost(error: unknown): never {
    if (this.#isStoring) throw errors.copyOutcomeUnknown(error)
    throw this.#stopReason ?? toClientError(error)
  }

  #isOverTime(): boolean {
    return performance.now() - this.#startedAt >= this.#options.limitMs
  }
}
