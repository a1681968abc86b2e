import type { Session } from '../postgres/session.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import { isUnconfirmed } from '../postgres/wire/wire-error.ts'
import type { WireHandler, WireOutcome } from '../postgres/wire/wire-handler.ts'
import type { WireText } from '../postgres/wire/wire-query.ts'

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
  /** The rows of the last command of the statement whose tag has a count. */
  rows: number | undefined
  #answered = 0
  /** The number of the caller's message, whose tags count. */
  #statement = 0
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
    commandComplete: (tag) => {
      if (this.#answered === this.#statement) this.rows = countOf(tag) ?? this.rows
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
   * Sends messages and discards their rows, except the value of the last one if requested. `statement`: the number of
   * the caller's own message, if there is one. Rejects if the connection is lost before `needed` of them are answered.
   */
  async run(
    texts: readonly WireText[],
    needed: number,
    { readsLast = false, statement = -1 }: { readsLast?: boolean; statement?: number } = {},
  ): Promise<readonly WireOutcome[]> {
    this.#answered = 0
    this.#statement = statement
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

function countOf(tag: string): number | undefined {
  const count = /\d+$/.exec(tag)?.[0]
  return count === undefined ? undefined : Number(count)
}

/** From a row with a single column: after the number of columns and the length of the value. */
function firstValue(row: Buffer, start: number, end: number): string {
  return row.toString('utf8', start + 6, end)
}

const slackMs = 250
