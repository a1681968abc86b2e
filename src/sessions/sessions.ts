import type { Principal } from '../auth/account.ts'
import type { Directory } from '../auth/directory.ts'
import type { Config } from '../config/config.ts'
import type { SessionLimits } from '../contract/session-frames.ts'
import { errors } from '../errors.ts'
import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Queries } from '../query/answer-query.ts'
import { settlesWithin } from '../waiting/settles-within.ts'
import { type EndReason, refusalReason } from './end-reason.ts'
import { OpenSession, type SessionClient, type SessionContext } from './open-session.ts'

export type SessionsOptions = Readonly<{
  config: Config
  databases: Databases
  queries: Queries
  directory: Directory
  metrics: Metrics
  log: Log
}>

/** All open sessions of this process. */
export class Sessions {
  readonly #options: SessionsOptions
  readonly #context: SessionContext
  readonly #open = new Set<OpenSession>()
  readonly #timer: NodeJS.Timeout
  #isStopped = false

  constructor(options: SessionsOptions) {
    const { config, databases, queries, metrics } = options
    this.#options = options
    this.#context = {
      databases,
      queries,
      idleMs: config.sessionIdleMs,
      transactionIdleMs: config.sessionTransactionIdleMs,
      maxMs: config.sessionMaxMs,
    }
    this.#timer = setInterval(() => this.#confirmAll(), confirmEveryMs).unref()
    metrics.watchSessions(() => this.#stats())
  }

  limitsOf(principal: Principal): SessionLimits {
    const { idleMs, transactionIdleMs, maxMs, queries } = this.#context
    return {
      statement_ms: queries.limitsOf(principal).silence.ms,
      idle_ms: idleMs,
      transaction_idle_ms: transactionIdleMs,
      session_ms: maxMs,
    }
  }

  /** Throws if the key or its account has too many. */
  open(principal: Principal, client: SessionClient): OpenSession {
    if (this.#isStopped) throw errors.shuttingDown()
    this.#requireRoom(principal)
    const session = new OpenSession(this.#context, principal, client, (ended, reason) =>
      this.#forget(ended, reason),
    )
    this.#open.add(session)
    return session
  }

  /** Ends all sessions with a rollback, and tells their clients. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    const open = [...this.#open]
    for (const session of open) session.lose('shutdown')
    await settlesWithin(Promise.all(open.map((session) => session.ended)), stopMs)
  }

  #requireRoom({ key, account }: Principal): void {
    const { sessionsPerKey, sessionsPerAccount } = this.#options.config
    let ofKey = 0
    let ofAccount = 0
    for (const { principal } of this.#open) {
      if (principal.account.userId === account.userId) ofAccount += 1
      if (principal.key.id === key.id) ofKey += 1
    }
    if (ofKey >= sessionsPerKey) throw errors.tooManySessions(sessionsPerKey, 'this key')
    if (ofAccount >= sessionsPerAccount) throw errors.tooManySessions(sessionsPerAccount, 'this account')
  }

  #forget(session: OpenSession, reason: EndReason): void {
    if (!this.#open.delete(session)) return
    this.#options.metrics.sessionEnded(reason)
    const { account, key } = session.principal
    this.#options.log.info({ user: account.username, key: key.id, reason }, 'session ended')
  }

  /** A session that has no connection yet is not ended with those of its role. */
  #confirmAll(): void {
    for (const session of this.#open) if (!session.principal.isCurrent()) void this.#confirm(session)
  }

  async #confirm(session: OpenSession): Promise<void> {
    try {
      session.renew(await this.#options.directory.renew(session.principal, 'sql'))
    } catch (error) {
      // If the control database cannot be asked, the next round or the next statement asks again.
      const reason = refusalReason(error)
      if (reason) session.lose(reason)
    }
  }

  #stats() {
    const sessions = [...this.#open]
    const inTransaction = sessions.filter(({ transaction }) => transaction !== 'none').length
    return { open: sessions.length, inTransaction }
  }
}

const confirmEveryMs = 1_000

/** A statement that does not stop when cancelled is ended after two seconds. */
const stopMs = 4_000
