import type { ScheduleDocument, ScheduleRunDocument } from '../../contract/documents.ts'
import { notifyEvents } from '../../contract/webhooks.ts'
import { definitionDocument } from '../../jobs/shown/job-document.ts'
import type { Schedule, ScheduleNotice, ScheduleRun } from '../../schedules/schedule.ts'

export function scheduleDocument(schedule: Schedule): ScheduleDocument {
  const { name: _name, ...job } = definitionDocument(schedule.job)
  return {
    name: schedule.name,
    cron: schedule.cron,
    timezone: schedule.timezone,
    ...job,
    ...(schedule.notify.length > 0 && { notify: schedule.notify.map(noticeDocument) }),
    enabled: schedule.isEnabled,
    overlap: schedule.overlap,
    catch_up: schedule.catchUp,
    next_run_at: schedule.nextRunAt?.toISOString() ?? null,
    ...(schedule.disabledReason !== null && { disabled_reason: schedule.disabledReason }),
    last_job: schedule.lastJob,
    last_status: schedule.lastStatus as ScheduleDocument['last_status'],
    runs_ok: schedule.runsOk,
    runs_failed: schedule.runsFailed,
    created_at: schedule.createdAt.toISOString(),
    updated_at: schedule.updatedAt.toISOString(),
  } as ScheduleDocument
}

/** Without the secret. All addresses get a message when the schedule is disabled. */
const noticeDocument = ({ url, events, includeSql }: ScheduleNotice) => ({
  url,
  on: notifyEvents.filter((event) => events.includes(`job.${event}`)),
  include_sql: includeSql,
})

export function runDocument({ dueAt, isManual, jobId, status, skipped }: ScheduleRun): ScheduleRunDocument {
  const due_at = dueAt.toISOString()
  if (skipped !== null) return { due_at, skipped }
  return {
    due_at,
    job_id: jobId!,
    status: (status ?? 'unknown') as NonNullable<ScheduleRunDocument['status']>,
    ...(isManual && { manual: true }),
  }
}
