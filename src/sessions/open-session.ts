import type { Principal } from '../auth/account.ts'
import {
  closeCodes,
  type ErrorMembers,
  type FrameId,
  type NoticeFrame,
  type ProgressFrame,
  type TransactionState,
} from '../contract/session-frames.ts'
import { AppError, errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { WireError } from '../postgres/wire/wire-error.ts'
import type { Queries } from '../query/answer-query.ts'
import { fieldMember } from '../query/rows/json-format.ts'
import type { Summary } from '../query/rows/row-format.ts'
import { KeptSession } from '../statements/kept-session.ts'
import { type EndReason, refusalReason, whyLost } from './end-reason.ts'
import type { Peer } from './frame-sink.ts'
import { runStatement, type SessionQuery } from './run-statement.ts'

export type SessionContext = Readonly<{
  databases: Databases
  queries: Queries
  idleMs: number
  transactionIdleMs: number
  maxMs: number
}>

/** The client of a session, as its entry point knows it. */
export type SessionClient = Readonly<{
  peer: Peer
  /** Turns an error into the members of a frame. */
  describe: (error: unknown) => ErrorMembers
  /** Counts a statement against the caller's rate limit. */
  countStatement: (principal: Principal) => Promise<void>
}>

type Running = Readonly<{ id: FrameId; stop: AbortController; startedAt: number }> & {
  isCancelled: boolean
  rows: () => number
}

/**
 * A session: one connection as the role of the key, opened by the first statement.
 *
 *     idle -> running -> idle      query; cancel stops the statement, not the session
 *     idle, running -> ended       the client leaves, or a limit, the key, the connection or the service ends
 *
 * Whatever ends it, the connection is closed and PostgreSQL rolls back. If a statement runs, it is cancelled, and its
 * outcome is sent before `lost`.
 */
export class OpenSession {
  readonly #context: SessionContext
  readonly #client: SessionClient
  readonly #kept: KeptSession
  readonly #onEnded: (session: OpenSession, reason: EndReason) => void
  readonly #longest: NodeJS.Timeout
  #principal: Principal
  #running: Running | null = null
  #idle: NodeJS.Timeout | undefined
  /** Ends the transaction of a caller without a key. */
  #transaction: NodeJS.Timeout | undefined
  /** Created past event triggers in the open transaction: to be checked when it commits. */
  #isUnchecked = false
  #isConnectionLost = false
  /** Since the last statement that was done. */
  #refusals = 0
  #ending: Readonly<{ reason: EndReason; error: AppError | null }> | null = null
  #isClosed = false
  #settleEnd: () => void = () => undefined
  /** Settles when the connection is closed. */
  readonly ended: Promise<void>

  constructor(
    context: SessionContext,
    principal: Principal,
    client: SessionClient,
    onEnded: (session: OpenSession, reason: EndReason) => void,
  ) {
    this.#context = context
    this.#principal = principal
    this.#client = client
    this.#onEnded = onEnded
    this.ended = new Promise((resolve) => {
      this.#settleEnd = resolve
    })
    const { databases, queries, maxMs } = context
    this.#kept = new KeptSession({
      databases,
      limitsOf: queries.limitsOf,
      onLost: () => this.#onLost(),
      onStopped: () => this.lose('operator'),
    })
    this.#longest = setTimeout(() => this.lose('too-long'), maxMs)
    this.#rest()
  }

  get principal(): Principal {
    return this.#principal
  }

  get transaction(): TransactionState {
    return transactionStates[this.#kept.transactionStatus]
  }

  /** The same caller with its key as it is now. */
  renew(principal: Principal): void {
    this.#principal = principal
  }

  /** Runs a statement and sends its answer. */
  async query(asked: SessionQuery): Promise<void> {
    if (this.#ending) return
    if (this.#running) {
      this.refuse(errors.sessionBusy(), asked.id)
      return
    }
    clearTimeout(this.#idle)
    const { id } = asked
    const startedAt = performance.now()
    const running: Running = {
      id,
      stop: new AbortController(),
      startedAt,
      isCancelled: false,
      rows: () => 0,
    }
    this.#running = running
    const progress = setInterval(() => this.#sendProgress(running), progressMs)
    try {
      await this.#answer(asked, running)
    } catch (error) {
      this.#fail(running, error)
    } finally {
      clearInterval(progress)
      this.#running = null
      this.#rest()
    }
  }

  /** Cancels the running statement, if it is this one. */
  cancel(id: FrameId | undefined): void {
    const running = this.#running
    if (!running || (id !== undefined && id !== running.id)) return
    running.isCancelled = true
    running.stop.abort(errors.statementCancelled(undefined, byClient))
  }

  /** The client is gone. */
  leave(reason: EndReason = 'closed'): void {
    this.#end(reason, null)
  }

  /** Ends the session, and tells the client why. */
  lose(reason: Exclude<EndReason, 'closed'>, cause?: unknown): void {
    this.#end(reason, whyLost(reason, cause))
  }

  /** Answers a message that cannot be used. A client that sends nothing else is cut. */
  refuse(error: unknown, id?: FrameId): void {
    if (this.#ending) return
    this.#sendError(error, id)
    this.#refusals += 1
    if (this.#refusals >= mostRefusals) this.lose('client', 'too many messages could not be used')
  }

  #sendError(error: unknown, id?: FrameId): void {
    const { transaction } = this
    const about = id === undefined ? {} : { id, transaction }
    this.#send({ type: 'error', ...about, ...this.#client.describe(error) })
  }

  async #answer(asked: SessionQuery, running: Running): Promise<void> {
    await this.#client.countStatement(this.#principal)
    const { queries } = this.#context
    const principal = this.#principal
    const summary = await runStatement(
      {
        queries,
        kept: this.#kept,
        principal,
        peer: this.#client.peer,
        gone: running.stop.signal,
        checkMade: principal.key.type === 'default' ? undefined : () => this.#checkMade(),
        onNotice: (notice) => this.#sendNotice(asked.id, notice),
        onRows: (count) => {
          running.rows = count
        },
      },
      asked,
    )
    if (this.#isUnchecked) await this.#checkMade()
    this.#refusals = 0
    this.#sendDone(asked.id, summary)
  }

  /** What is not committed cannot be seen by the check. */
  async #checkMade(): Promise<void> {
    this.#isUnchecked = this.#kept.isConnected && this.#kept.transactionStatus !== 'I'
    if (!this.#isUnchecked) await this.#context.queries.pastTriggers.check(this.#principal)
  }

  #fail(running: Running, thrown: unknown): void {
    const error = this.#stoppedBy(running, thrown)
    this.#sendError(error, running.id)
    if (error instanceof AppError && endings.has(error.code)) this.lose('setting', error.message)
  }

  /** Our own stop shows as a client that left. */
  #stoppedBy({ isCancelled }: Running, thrown: unknown): unknown {
    if (!(thrown instanceof AppError) || thrown.code !== 'client-left') return thrown
    const { detail } = thrown.extras
    const reason = this.#ending?.error
    if (reason)
      return new AppError(reason.code, reason.kind, reason.message, {
        ...reason.extras,
        ...(detail && { detail }),
      })
    return isCancelled ? errors.statementCancelled(thrown, byClient, { detail }) : thrown
  }

  /** Between two statements. */
  #rest(): void {
    if (this.#ending) {
      this.#close()
      return
    }
    if (this.#isConnectionLost) {
      void this.#loseConnection()
      return
    }
    const { idleMs, transactionIdleMs } = this.#context
    const isOpen = this.transaction !== 'none'
    this.#idle = setTimeout(
      () => this.lose(isOpen ? 'idle-in-transaction' : 'idle'),
      isOpen ? transactionIdleMs : idleMs,
    )
    if (this.#principal.key.type === 'default') this.#limitTransaction(isOpen)
  }

  /** Without a key, a transaction may last no longer than a text on the SQL endpoint: others may wait for its locks. */
  #limitTransaction(isOpen: boolean): void {
    if (isOpen) {
      const { silence } = this.#context.queries.limitsOf(this.#principal)
      this.#transaction ??= setTimeout(() => this.lose('long-transaction'), silence.ms)
      return
    }
    clearTimeout(this.#transaction)
    this.#transaction = undefined
  }

  #onLost(): void {
    this.#isConnectionLost = true
    if (!this.#running) void this.#loseConnection()
  }

  async #loseConnection(): Promise<void> {
    const { endReason } = this.#kept
    if (endReason) return this.lose('guard', endReason.message)
    const reason = await this.#principal.confirm('sql').then(() => undefined, refusalReason)
    this.lose(reason ?? 'database')
  }

  #end(reason: EndReason, error: AppError | null): void {
    if (this.#ending) return
    this.#ending = { reason, error }
    for (const timer of [this.#longest, this.#idle, this.#transaction]) clearTimeout(timer)
    if (this.#running) this.#running.stop.abort(error ?? errors.clientLeft())
    else this.#close()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const { reason, error } = this.#ending!
    if (error) this.#send({ type: 'lost', ...this.#client.describe(error) })
    this.#client.peer.close(error ? closeCodes.lost : closeCodes.normal)
    if (this.#isUnchecked) void this.#context.queries.pastTriggers.check(this.#principal)
    void this.#kept.end().then(this.#settleEnd)
    this.#onEnded(this, reason)
  }

  #sendNotice(id: FrameId, { severity, message }: WireError): void {
    this.#send({ type: 'notice', id, severity: severity.toLowerCase(), message } satisfies NoticeFrame)
  }

  #sendProgress({ id, startedAt, rows }: Running): void {
    const time = Math.round(performance.now() - startedAt) / 1000
    this.#send({ type: 'progress', id, time, rows: rows() } satisfies ProgressFrame)
  }

  /** A column may have any name, so the fields are written as text. */
  #sendDone(id: FrameId, { seconds, fields, totalRows, notices }: Summary): void {
    const start = JSON.stringify({ type: 'done', id, transaction: this.transaction, time: seconds })
    const messages = [...notices].map(([kind, texts]) => `,${JSON.stringify(kind)}:${JSON.stringify(texts)}`)
    this.#client.peer.send(
      `${start.slice(0, -1)},"fields":{${fields.map(fieldMember).join(',')}},"total_rows":${totalRows}${messages.join('')}}`,
      false,
    )
  }

  #send(frame: Readonly<Record<string, unknown>>): void {
    this.#client.peer.send(JSON.stringify(frame), false)
  }
}

const transactionStates = { I: 'none', T: 'open', E: 'failed' } as const

const byClient = 'by its client'

/** After these, texts would no longer mean the same to PostgreSQL and to us. */
const endings: ReadonlySet<string> = new Set(['client-encoding-fixed', 'setting-fixed'])

const progressMs = 1_000
const mostRefusals = 100
