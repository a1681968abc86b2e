import type { Session } from '../postgres/session.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import type { WireHandler, WireOutcome } from '../postgres/wire-query.ts'

/**
 * Stands beside a statement from outside, where its own SET statement_timeout does not reach: at the limit, and when
 * the worker must stop, the connection is cut. (A request to cancel could be caught by the statement, or come late and
 * hit another one.) What became of the statement is then for PostgreSQL to say.
 */
export class StatementWatch {
  isTimedOut = false
  /** The server ended every backend because one of them, another than ours, had crashed. */
  isInnocent = false
  readonly #session: Session
  readonly #interrupted: AbortSignal
  readonly #timer: NodeJS.Timeout
  readonly #handler: WireHandler = {
    notice: ({ sqlstate: state }) => {
      if (state === sqlstate.crashShutdown) this.isInnocent = true
    },
  }

  constructor(session: Session, timeoutMs: number, interrupted: AbortSignal) {
    this.#session = session
    this.#interrupted = interrupted
    // PostgreSQL's own limit comes first, unless the statement has lifted it.
    this.#timer = setTimeout(() => this.#timeOut(), Math.min(timeoutMs + slackMs, longestTimerMs))
    interrupted.addEventListener('abort', this.#cut, { once: true })
    if (interrupted.aborted) this.#cut()
  }

  /** Sends messages and throws away their rows. Rejects when the connection is lost before `needed` of them are answered. */
  async run(texts: readonly string[], needed: number): Promise<readonly WireOutcome[]> {
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

const slackMs = 250
const longestTimerMs = 2 ** 31 - 1
