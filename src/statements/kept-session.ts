import { type Principal, sessionTargetOf } from '../auth/account.ts'
import { type AppError, errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import type { Session } from '../postgres/session.ts'
import { explainRevocation, lendSession, requireListed } from './admit-caller.ts'
import { type RunningStatement, runningStatements } from './running-statements.ts'
import { StatementRun } from './statement-run.ts'
import type { LimitsOf } from './time-limits.ts'

export type KeptSessionOptions = Readonly<{
  databases: Databases
  limitsOf: LimitsOf
  /** Called once when the connection is lost or was ended from outside. Not after `end`. */
  onLost: () => void
  /** The operator ends the session between two statements. */
  onStopped: (reason: AppError) => void
}>

/**
 * A caller's connection for many statements, one at a time: what `runAs` is for one. The first statement opens it. It is
 * closed at the end and never used by another caller, so nothing that a statement leaves behind is cleaned.
 */
export class KeptSession {
  readonly #options: KeptSessionOptions
  #session: Session | null = null
  #isEnded = false
  /** Called when the connection has ended while a statement runs. */
  #onCut: (() => void) | null = null
  /** The wait for the next statement, as the operator sees it. */
  #rest: RunningStatement | null = null

  constructor(options: KeptSessionOptions) {
    this.#options = options
  }

  get transactionStatus(): Session['transactionStatus'] {
    return this.#session?.transactionStatus ?? 'I'
  }

  /** Set if the guard of the host has ended it. */
  get endReason(): Session['endReason'] {
    return this.#session?.endReason ?? null
  }

  get isConnected(): boolean {
    return this.#session?.isAlive ?? false
  }

  /** Runs one text with the rights of the caller's key. Settles when the connection is idle again, or lost. */
  async run<T>(
    principal: Principal,
    text: string,
    gone: AbortLike,
    work: (run: StatementRun) => Promise<T>,
  ): Promise<T> {
    requireListed(principal, text)
    const { databases, limitsOf } = this.#options
    this.#endRest()
    const statement = runningStatements(databases).begin(principal, 'session', text)
    let session: Session
    try {
      session = await statement.wait(gone, (left) => this.#open(principal, left, statement))
    } catch (error) {
      statement.end()
      this.#beginRest(principal)
      throw error
    }
    const idle = new Promise<void>((resolve) => {
      this.#onCut = resolve
    })
    const limits = limitsOf(principal)
    const keep = () => this.#onCut?.()
    const run = new StatementRun({ databases, session, limits, gone, keep, statement })
    try {
      return await explainRevocation(principal, work(run))
    } finally {
      await run.releaseUnsent()
      if (session.isAlive) await idle
      this.#onCut = null
      this.#beginRest(principal)
    }
  }

  /** Closes the connection: the server rolls back what is not committed. */
  async end(): Promise<void> {
    this.#isEnded = true
    this.#endRest()
    await this.#session?.destroy()
  }

  /** Between two statements it still has its connection, and its locks if a transaction is open. */
  #beginRest(principal: Principal): void {
    const session = this.#session
    if (!session?.isAlive || this.#isEnded) return
    const { databases, onStopped } = this.#options
    this.#rest = runningStatements(databases).begin(principal, 'session', undefined)
    this.#rest.runs({ session, stop: onStopped })
  }

  #endRest(): void {
    this.#rest?.end()
    this.#rest = null
  }

  async #open(principal: Principal, gone: AbortLike, statement: RunningStatement): Promise<Session> {
    await principal.confirm('sql')
    if (this.#session) {
      if (!this.#session.isAlive) throw errors.databaseUnavailable()
      return this.#session
    }
    const { databases } = this.#options
    statement.waitsFor = 'connection'
    const session = await lendSession(principal, databases.session.acquire(sessionTargetOf(principal), gone))
    session.onEnd = () => this.#lose()
    this.#session = session
    if (this.#isEnded) await session.destroy()
    return session
  }

  #lose(): void {
    this.#onCut?.()
    this.#endRest()
    if (this.#isEnded) return
    this.#isEnded = true
    this.#options.onLost()
  }
}
