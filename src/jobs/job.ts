import type { JobStatus, StepStatus } from '../contract/job-status.ts'

/** The form in which the client wrote the query, and gets it back: one statement, a chain, or a chain with fallbacks. */
export type JobForm = 'string' | 'array' | 'object'

/** Statements to run afterwards; templates, see fallback-template.ts. */
export type Fallbacks = {
  readonly onsuccess?: string
  readonly onerror?: string
}

export type ItemDefinition = Fallbacks & {
  readonly statement: string
  /** The JSON text of each bind parameter, as it was sent. */
  readonly params?: readonly string[]
  readonly timeoutMs?: number
}

/** What people know a job by. */
export type JobTags = {
  readonly name?: string
  readonly labels?: readonly string[]
  /** The schedule that made it. */
  readonly schedule?: string
}

/** When to try again after a failure that another attempt may mend. */
export type RetryRule = {
  /** The first included. */
  readonly attempts: number
  /** Before the second attempt; it doubles with each further one. */
  readonly backoffMs: number
}

/** When a job may run. */
export type JobTiming = {
  /** An ISO time. */
  readonly notBefore?: string
  readonly retry?: RetryRule
}

/** What the client asked for. */
export type JobDefinition = Fallbacks &
  JobTags &
  JobTiming & {
    readonly form: JobForm
    readonly items: readonly ItemDefinition[]
    /** A file that becomes a table: see src/imports. Its one item has no statement. */
    readonly isImport?: true
  }

/** The outcome of a fallback; absent if there is none. */
export type FallbackRecord = {
  readonly fallbackStatus?: StepStatus
  readonly fallbackFailedReason?: string
}

export type Item = ItemDefinition &
  FallbackRecord & {
    readonly status: StepStatus
    readonly startedAt?: Date
    readonly endedAt?: Date
    readonly failedReason?: string
    /** If PostgreSQL gave the reason. */
    readonly failedSqlstate?: string
    /** The number in PostgreSQL's command tag; absent if the tag has none, or if the answer was lost. */
    readonly rows?: number
  }

export type Job = Fallbacks &
  JobTags &
  JobTiming &
  FallbackRecord & {
    readonly id: string
    readonly user: string
    readonly status: JobStatus
    readonly form: JobForm
    readonly isImport?: true
    readonly items: readonly Item[]
    readonly failedReason?: string
    readonly failedSqlstate?: string
    /** How often a failed item was tried again. */
    readonly retries?: number
    /** The job is pending and waits for this time outside the queue. */
    readonly delayedUntil?: Date
    readonly createdAt: Date
    readonly updatedAt: Date
  }
