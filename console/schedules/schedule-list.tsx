import type { FullJobDocument, ScheduleRunDocument } from '../../src/contract/documents.ts'
import { firstStatementOf } from '../../src/contract/job-items.ts'
import { requestJson } from '../api/request.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { formatTime, shorten } from '../parts/format.ts'
import { Skeleton } from '../parts/loading.tsx'
import { Empty, ErrorNotice, Notice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { type ShownSchedule, useSchedules } from './use-schedules.ts'

/** All schedules, with their next run in the time zone of the viewer and a dot for each of the last runs. */
export function ScheduleList() {
  const { schedules, error, again } = useSchedules()
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Schedules</h1>
        <a class="button primary" href={hrefOf('/schedules/new')}>
          New schedule
        </a>
      </div>
      <p class="muted">
        A schedule makes a job at each due time. Times are shown in your time zone, {viewerZone()}.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
      {!schedules && error === undefined && <Skeleton />}
      {schedules?.length === 0 && <Empty>No schedules yet. Create one.</Empty>}
      {schedules?.map((shown) => (
        <OneSchedule key={shown.schedule.name} {...shown} again={again} />
      ))}
    </>
  )
}

const viewerZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone

function OneSchedule({ schedule, runs, again }: ShownSchedule & Readonly<{ again: () => void }>) {
  const { name, cron, timezone, query, notify, next_run_at: next, disabled_reason: reason } = schedule
  return (
    <section class="panel stack tight" aria-label={`Schedule ${name}`}>
      <div class="row">
        <h2>{name}</h2>
        <code>{cron}</code>
        <span class="muted small">{timezone}</span>
        <span class="grow" />
        <span>{next ? `Next run ${formatTime(next)}` : 'Paused'}</span>
      </div>
      <code>{shorten(firstStatementOf(query), 120)}</code>
      {reason && <Notice kind="error">{reason}</Notice>}
      <Runs runs={runs} />
      <p class="muted small">
        {schedule.runs_ok} ok, {schedule.runs_failed} failed
      </p>
      {notify && <p class="muted small">Notifies {notify.map(({ url }) => shorten(url, 80)).join(', ')}</p>}
      <Acts schedule={schedule} again={again} />
    </section>
  )
}

/** The oldest first. */
function Runs({ runs }: Readonly<{ runs: readonly ScheduleRunDocument[] }>) {
  if (runs.length === 0) return <p class="muted small">It was not due yet.</p>
  return (
    <ul class="runs" aria-label="Last runs">
      {runs.toReversed().map(({ due_at, job_id, status, skipped }) => {
        const what = skipped ? `skipped: ${skipped}` : status
        const label = `${formatTime(due_at)}: ${what}`
        const dot = `run ${skipped ? 'skipped' : status}`
        return (
          <li key={due_at}>
            {job_id ? (
              <a class={dot} href={hrefOf(pathTo('jobs', job_id))} title={label}>
                <span class="hidden-text">{label}</span>
              </a>
            ) : (
              <span class={dot} role="img" title={label} aria-label={label} />
            )}
          </li>
        )
      })}
    </ul>
  )
}

function Acts({ schedule, again }: Readonly<Pick<ShownSchedule, 'schedule'> & { again: () => void }>) {
  const { isBusy, error, begin } = useWork()
  const parameters = { schedule: schedule.name }
  const runNow = () =>
    begin(async () => {
      const job = await requestJson<FullJobDocument>('runSchedule', { parameters })
      navigate(pathTo('jobs', job.job_id))
    })
  const setEnabled = (enabled: boolean) =>
    begin(async () => {
      const { created_at: _created, updated_at: _updated, ...wanted } = schedule
      await requestJson('putSchedule', { parameters, json: { ...wanted, enabled }, isRepeatable: true })
      again()
    })
  return (
    <>
      <div class="row">
        <button type="button" disabled={isBusy} onClick={runNow}>
          Run now
        </button>
        <button type="button" disabled={isBusy} onClick={() => setEnabled(!schedule.enabled)}>
          {schedule.enabled ? 'Pause' : 'Resume'}
        </button>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
    </>
  )
}
