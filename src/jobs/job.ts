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
  readonly timeoutMs?: number
}

/** What people know a job by. */
export type JobTags = {
  readonly name?: string
  readonly labels?: readonly string[]
}

/** What the client asked for. */
export type JobDefinition = Fallbacks &
  JobTags & {
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
  }

export type Job = Fallbacks &
  JobTags &
  FallbackRecord & {
    readonly id: string
    readonly user: string
    readonly status: JobStatus
    readonly form: JobForm
    readonly isImport?: true
    readonly items: readonly Item[]
    readonly failedReason?: string
    readonly failedSqlstate?: string
    readonly createdAt: Date
    readonly updatedAt: Date
  }
