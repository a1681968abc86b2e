import { randomBytes } from 'node:crypto'
import type { Principal } from '../auth/account.ts'
import type { ActivityKind } from '../contract/admin-names.ts'
import type { AppError } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import type { Session } from '../postgres/session.ts'
import { remembered } from '../remembered.ts'

/** What has the connection, and can be stopped: a StatementRun, or a session between two statements. */
export type Stoppable = Readonly<{ session: Session; stop: (reason: AppError) => void }>

/** What runs for callers in this process: everything that `runAs` and `KeptSession` have begun and that has not ended. */
export class RunningStatements {
  /** New at every start, so that an id never means the statement of another process. */
  readonly process = randomBytes(6).toString('hex')
  readonly #running = new Set<RunningStatement>()

  begin(principal: Principal, kind: ActivityKind, text: string | undefined): RunningStatement {
    const forget = () => this.#running.delete(statement)
    const statement = new RunningStatement(this.process, principal, kind, text, forget)
    this.#running.add(statement)
    return statement
  }

  find(id: string): RunningStatement | undefined {
    return this.list().find((statement) => statement.id === id)
  }

  /** In the order of their begin. */
  list(): readonly RunningStatement[] {
    return [...this.#running]
  }
}

/** The running statements of this process. */
export const runningStatements = remembered((_databases: Databases) => new RunningStatements())

/** One statement of a caller, from its wait for a connection to its end. */
export class RunningStatement {
  readonly #process: string
  #id: string | undefined
  readonly principal: Principal
  readonly kind: ActivityKind
  readonly text: string | undefined
  /** What it waits for before PostgreSQL has it. */
  waitsFor: 'slot' | 'connection' | null = null
  readonly #startedAt = performance.now()
  readonly #forget: () => void
  #onEnd: (() => void) | null = null
  #on: Stoppable | null = null
  #stopReason: AppError | null = null
  #waiting: AbortController | null = null
  #hasEnded = false

  constructor(
    process: string,
    principal: Principal,
    kind: ActivityKind,
    text: string | undefined,
    forget: () => void,
  ) {
    this.#process = process
    this.principal = principal
    this.kind = kind
    this.text = text
    this.#forget = forget
  }

  /** Never used again. Not a number in a row, which would tell accounts how much the others run. */
  get id(): string {
    this.#id ??= `${this.#process}-${randomBytes(6).toString('hex')}`
    return this.#id
  }

  get runMs(): number {
    return performance.now() - this.#startedAt
  }

  /** Its connection; null while it waits for one. */
  get session(): Session | null {
    return this.#on?.session ?? null
  }

  /** Runs a wait, which ends when the client leaves or the statement is stopped. */
  async wait<T>(gone: AbortLike, wait: (left: AbortLike) => Promise<T>): Promise<T> {
    const waiting = new AbortController()
    const leave = () => waiting.abort(gone.reason)
    this.#waiting = waiting
    gone.addEventListener('abort', leave)
    if (gone.aborted) leave()
    try {
      return await wait(waiting.signal)
    } finally {
      gone.removeEventListener('abort', leave)
      this.#waiting = null
      this.waitsFor = null
    }
  }

  /** Called when the statement has its connection. */
  runs(on: Stoppable): void {
    this.#on = on
    if (this.#stopReason) on.stop(this.#stopReason)
  }

  /** Null if it was not stopped through this. */
  get stopReason(): AppError | null {
    return this.#stopReason
  }

  /** Stops it, unless it has ended: its connection may be the next statement's. Settles when it has ended. */
  stop(reason: AppError): Promise<void> {
    if (this.#hasEnded) return Promise.resolve()
    const ended = new Promise<void>((resolve) => {
      const others = this.#onEnd
      this.#onEnd = () => {
        others?.()
        resolve()
      }
    })
    this.#stopReason ??= reason
    this.#waiting?.abort(reason)
    this.#on?.stop(reason)
    return ended
  }

  end(): void {
    this.#hasEnded = true
    this.#forget()
    this.#onEnd?.()
  }
}
