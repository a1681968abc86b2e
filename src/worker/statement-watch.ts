import type { Session } from '../postgres/session.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import { isUnconfirmed } from '../postgres/wire/wire-error.ts'
import type { WireHandler, WireOutcome } from '../postgres/wire/wire-handler.ts'

/**
 * Limits a statement from outside, which its own SET statement_timeout cannot change. At the limit, and when the worker
 * must stop, the connection is cut: the statement could catch a cancel, or a late cancel could hit another statement.
 * PostgreSQL is then asked for the outcome.
 */
export class StatementWatch {
  isTimedOut = false
  /** The server ended every backend because another one than ours had crashed. */
  isInnocent = false
  /** The single value of the last message, if requested. */
  lastValue = ''
  /** A commit did not wait for the synchronous replicas. */
  isUnconfirmed = false
  readonly #session: Session
  readonly #interrupted: AbortSignal
  readonly #timer: NodeJS.Timeout
  #answered = 0
  /** The number of the message whose value to read. */
  #valueOf: number | undefined
  readonly #handler: WireHandler = {
    notice: (notice) => {
      if (notice.sqlstate === sqlstate.crashShutdown) this.isInnocent = true
      this.isUnconfirmed ||= isUnconfirmed(notice)
    },
    answered: () => {
      this.#answered += 1
    },
    dataRow: (buffer, start, end) => {
      if (this.#answered === this.#valueOf) this.lastValue = firstValue(buffer, start, end)
    },
  }

  constructor(session: Session, timeoutMs: number, interrupted: AbortSignal) {
    this.#session = session
    this.#interrupted = interrupted
    // PostgreSQL's own limit fires first, unless the statement has lifted it.
    this.#timer = setTimeout(() => this.#timeOut(), timeoutMs + slackMs)
    interrupted.addEventListener('abort', this.#cut, { once: true })
    if (interrupted.aborted) this.#cut()
  }

  /**
   * Sends messages and discards their rows, except the value of the last one if requested. Rejects if the connection is
   * lost before `needed` of them are answered.
   */
  async run(texts: readonly string[], needed: number, readsLast = false): Promise<readonly WireOutcome[]> {
    this.#answered = 0
    this.#valueOf = readsLast ? texts.length - 1 : undefined
    const query = this.#session.send(texts, this.#handler)
    try {
      await query.done
    } catch (error) {
      if (query.outcomes.length < needed) throw error
    }
    return query.outcomes
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#interrupted.removeEventListener('abort', this.#cut)
  }

  #timeOut(): void {
    this.isTimedOut = true
    this.#cut()
  }

  readonly #cut = (): void => {
    this.#session.destroy().catch(() => undefined)
  }
}

/** From a row with a single column: after the number of columns and the length of the value. */
function firstValue(row: Buffer, start: number, end: number): string {
  return row.toString('utf8', start + 6, end)
}

const slackMs = 250
