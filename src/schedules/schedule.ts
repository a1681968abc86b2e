import type { JobDefinition } from '../jobs/job.ts'

/** What to do at a due time while a job of the schedule has not ended. */
export const overlaps = ['skip', 'queue'] as const
/** What to do about due times at which no worker was there. */
export const catchUps = ['none', 'last'] as const

/** Whom a schedule tells of the end of its jobs, as it is shown. */
export type ScheduleNotice = Readonly<{ url: string; events: readonly string[]; includeSql: boolean }>

/** What the client asked for. */
export type ScheduleDefinition = Readonly<{
  name: string
  cron: string
  timezone: string
  job: JobDefinition
  isEnabled: boolean
  overlap: (typeof overlaps)[number]
  catchUp: (typeof catchUps)[number]
}>

export type Schedule = ScheduleDefinition &
  Readonly<{
    notify: readonly ScheduleNotice[]
    nextRunAt: Date | null
    disabledReason: string | null
    lastJob: string | null
    lastStatus: string | null
    runsOk: number
    runsFailed: number
    createdAt: Date
    updatedAt: Date
  }>

/** Why a due time made no job. `missed`: no worker was there, or the clock has jumped. */
export type SkipReason = 'overlap' | 'missed' | 'queue-full'

/** A due time, and what became of it. */
export type ScheduleRun = Readonly<{
  dueAt: Date
  isManual: boolean
  jobId: string | null
  status: string | null
  skipped: SkipReason | null
}>
