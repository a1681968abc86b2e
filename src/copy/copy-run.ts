import { type AppError, errors } from '../errors.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import { type RunHandler, StatementRun } from '../postgres/statement-run.ts'
import { sqlError, toClientError, type WireError } from '../postgres/wire/wire-error.ts'

/** The two directions differ in what they do with the data. */
export type CopyHandler = Pick<RunHandler, 'copyData' | 'feedCopy' | 'copyDrained' | 'stopped'>

/** One COPY on one connection, from the statement to the server's last word. */
export class CopyRun extends StatementRun {
  #isStoring = false

  /** Answers the rows. By then the session has been given back clean, or destroyed. */
  async copy(text: string, handler: CopyHandler): Promise<number> {
    let rows = 0
    const commandComplete = (tag: string) => {
      rows = Number(/^COPY (\d+)$/.exec(tag)?.[1] ?? 0)
    }
    try {
      const sent = this.send(text, { ...handler, commandComplete })
      const { error } = await sent.catch((lost: unknown) => this.#lost(lost))
      // The server has stored the data, even if a stop was asked for meanwhile.
      if (this.#isStoring && !error) return rows
      if (this.stopReason) throw this.stopReason
      if (error) throw copyError(error, this.isOverTime)
      return rows
    } finally {
      await this.release()
    }
  }

  /** The client has sent everything: let the server store it. */
  store(): void {
    this.#isStoring = true
    this.wire.finishCopy()
  }

  #lost(error: unknown): never {
    if (this.#isStoring) throw errors.copyOutcomeUnknown(error)
    throw this.stopReason ?? toClientError(error)
  }
}

/** What PostgreSQL's answer to a COPY means to the client. */
function copyError(error: WireError, isOverTime: boolean): AppError {
  if (error.sqlstate === sqlstate.queryCanceled && isOverTime) return errors.statementTimeout()
  if (error.sqlstate === sqlstate.quotaExceeded) return errors.quotaExceeded(error)
  return sqlError(error)
}
