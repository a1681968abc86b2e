import type { ActivityDocument } from '../../src/contract/documents.ts'
import { readActivity } from '../api/operator.ts'
import { serviceNow } from '../parts/browser/clock.ts'
import { formatAge, formatCount, formatDuration, formatTime, plural } from '../parts/format.ts'
import { Skeleton } from '../parts/loading.tsx'
import { Empty, ErrorNotice, Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { usePolled } from '../parts/use-polled.ts'
import { Statements } from './statements.tsx'
import { UserLink } from './user-link.tsx'

/** What runs for callers, and what the workers are doing. Refreshed while the tab is visible. */
export function ActivityPage() {
  const { value, error } = usePolled((signal) => readActivity(signal), everyMs)
  return (
    <>
      <h1>Activity</h1>
      <p class="muted">
        What runs now in all processes, refreshed every 2 seconds. SQL is cut at 1,024 characters. Stops are
        recorded in the audit log.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
      {value ? <Shown {...value} /> : error === undefined && <Skeleton />}
    </>
  )
}

const everyMs = 2_000

function Shown({ statements, running, waiting, left_out, silent_processes }: ActivityDocument) {
  return (
    <>
      {silent_processes > 0 && (
        <Notice kind="warning">
          {plural(silent_processes, 'process', 'processes')} did not answer: what runs there is not shown.
        </Notice>
      )}
      <h2>Statements</h2>
      {statements.length === 0 ? <Empty>Nothing runs.</Empty> : <Statements statements={statements} />}
      {left_out.statements > 0 && (
        <p class="muted">{plural(left_out.statements, 'more statement')} not shown.</p>
      )}
      <h2>Running jobs</h2>
      {running.length === 0 ? <Empty>No jobs are running.</Empty> : <Running jobs={running} />}
      {left_out.running > 0 && <p class="muted">{plural(left_out.running, 'more job')} not shown.</p>}
      <h2>Waiting jobs</h2>
      {waiting.length === 0 ? <Empty>No jobs are waiting.</Empty> : <Waiting users={waiting} />}
      {left_out.waiting > 0 && <p class="muted">{plural(left_out.waiting, 'more user')} not shown.</p>}
    </>
  )
}

function Running({ jobs }: Readonly<{ jobs: ActivityDocument['running'] }>) {
  return (
    <Table label="Running jobs" head={['User', 'Statement', 'Running for', 'Host', 'Worker', 'Job']}>
      {jobs.map(({ job_id, username, item, items, started_at, host, worker }) => (
        <tr key={job_id}>
          <td>
            <UserLink username={username} />
          </td>
          <td>
            {item} of {items}
          </td>
          <td class="time" title={formatTime(started_at)}>
            {formatDuration(Math.max(0, serviceNow() - Date.parse(started_at)))}
          </td>
          <td>{host}</td>
          <td>{worker ?? 'worker lost, another takes over'}</td>
          <td class="mono">{job_id}</td>
        </tr>
      ))}
    </Table>
  )
}

function Waiting({ users }: Readonly<{ users: ActivityDocument['waiting'] }>) {
  return (
    <Table label="Waiting users" head={['User', 'Jobs', 'Oldest']}>
      {users.map(({ username, jobs, oldest_at }) => (
        <tr key={username}>
          <td>
            <UserLink username={username} />
          </td>
          <td>{formatCount(jobs)}</td>
          <td title={formatTime(oldest_at)}>{formatAge(oldest_at)}</td>
        </tr>
      ))}
    </Table>
  )
}
