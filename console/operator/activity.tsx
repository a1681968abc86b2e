import type { ActivityDocument } from '../../src/contract/documents.ts'
import { readActivity } from '../api/operator.ts'
import { serviceNow } from '../parts/browser/clock.ts'
import { hrefOf, pathTo } from '../parts/browser/route.ts'
import { formatAge, formatCount, formatDuration, formatTime, plural } from '../parts/format.ts'
import { Skeleton } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { usePolled } from './use-polled.ts'

/** What the workers are doing. Refreshed while the tab is visible. */
export function ActivityPage() {
  const { value, error } = usePolled((signal) => readActivity(signal), everyMs)
  return (
    <>
      <h1>Activity</h1>
      <p class="muted">
        What the workers are doing: batch jobs of all users, refreshed every 2 seconds. SQL is not shown.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
      {value ? <Shown {...value} /> : error === undefined && <Skeleton />}
    </>
  )
}

const everyMs = 2_000

function Shown({ running, waiting, left_out }: ActivityDocument) {
  return (
    <>
      <h2>Running</h2>
      {running.length === 0 ? <Empty>No jobs are running.</Empty> : <Running jobs={running} />}
      {left_out.running > 0 && <p class="muted">{plural(left_out.running, 'more job')} not shown.</p>}
      <h2>Waiting</h2>
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

function UserLink({ username }: Readonly<{ username: string }>) {
  return <a href={hrefOf(pathTo('operator', 'users', username))}>{username}</a>
}
