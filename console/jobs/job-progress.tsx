import type { FullJobDocument } from '../../src/contract/documents.ts'
import { formatDuration, formatTime } from '../parts/format.ts'

/** What a pending job waits for, or the progress of a running one. Only what the service reports. */
export function JobProgress({ job }: Readonly<{ job: FullJobDocument }>) {
  if (job.status === 'pending') return <Waiting job={job} />
  const { progress } = job
  if (job.status !== 'running' || !progress) return null
  const { item, items, phase, percent, waits_for: waits, eta_ms: etaMs } = progress
  return (
    <section class="panel stack tight" aria-label="Progress">
      <div class="row">
        <strong>
          Statement {item} of {items}
        </strong>
        {phase && <span>{phase}</span>}
        {percent !== undefined && <span>{percent.toFixed(0)} %</span>}
        {etaMs !== undefined && etaMs > 0 && (
          <span class="muted">about {formatDuration(etaMs)} left, by its last runs</span>
        )}
      </div>
      {percent !== undefined && <progress aria-label="Percent of the phase" max={100} value={percent} />}
      {waits && (
        <p>
          Waits for a lock ({waits.lock})
          {waits.sessions.length === 0 ? '.' : ' that a session of this account holds:'}
        </p>
      )}
      {waits?.sessions.map(({ pid, state, query, since }) => (
        <pre key={pid}>
          pid {pid}, {state} since {formatTime(since)}
          {`\n${query}`}
        </pre>
      ))}
    </section>
  )
}

function Waiting({ job: { not_before: until, position, attempts } }: Readonly<{ job: FullJobDocument }>) {
  if (until !== undefined && Date.parse(until) > Date.now())
    return (
      <p class="muted">
        Waits until {formatTime(until)}
        {attempts !== undefined && attempts > 1 ? ` for attempt ${attempts}` : ''}.
      </p>
    )
  if (!position) return null
  return (
    <p class="muted">
      {position.is_host_busy
        ? 'It is next, but every slot of the database host is taken.'
        : `${position.ahead} of your jobs ${position.ahead === 1 ? 'is' : 'are'} ahead.`}
    </p>
  )
}
