import type { ChaosReport } from './chaos.ts'

/** The result as a table of two columns. */
export function describe({ options, seconds, attacks, recoveryMs, outages, findings }: ChaosReport): string {
  const total = Object.values(attacks).reduce((sum, count) => sum + count, 0)
  const rows: [string, string | number][] = [
    ['seed', options.seed],
    ['processes', `${options.servers} servers, ${options.workers} workers, ${databasesOf(options)}`],
    ['users, clients', `${options.users}, ${options.clients}`],
    ['jobs per user at once', options.jobsPerUser],
    ['time', `${seconds.toFixed(0)} s`],
    ['attacks', total],
    ...Object.entries(attacks)
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, count]): [string, number] => [`  ${name}`, count]),
    ['jobs', findings.jobs],
    ...Object.entries(findings.byStatus).map(([status, count]): [string, number] => [`  ${status}`, count]),
    ['statements', findings.statements],
    ['  given up after three losses', findings.givenUp],
    ['  unknown (outside of a transaction)', findings.unknown],
    ['  begun anew', findings.sentAgain],
    ['  done, and lost by replication', findings.lostByReplication],
    ['fail-overs', findings.failovers],
    ['  transactions in lost tails', findings.lostTransactions],
    ['  jobs cut while they waited for the replica', findings.endedCommits],
    ['tokens revoked', findings.revoked],
    ['  refused when tried again', findings.refused],
    ['  accepted', findings.accepted],
    ['copies and SQL writes', findings.writes.stored + findings.writes['not stored'] + findings.writes.doubt],
    ['  stored', findings.writes.stored],
    ['  not stored', findings.writes['not stored']],
    ['  nobody knows', findings.writes.doubt],
    ['downloads', findings.writes.downloads],
    ['imports', findings.imports.complete + findings.imports.cancelled + findings.imports.givenUp],
    ['  in several requests', findings.imports.inPieces],
    ['  complete', findings.imports.complete],
    ['  cancelled', findings.imports.cancelled],
    ['  given up after three crashes', findings.imports.givenUp],
    ['  begun anew', findings.imports.begunAnew],
    ['copies in several requests', findings.uploads.stored + findings.uploads.doubt],
    ['  nobody knows', findings.uploads.doubt],
    ['moves of users', findings.moves.done + findings.moves.failed],
    ['  done', findings.moves.done],
    ['  undone', findings.moves.failed],
    ...findings.moves.reasons.map((reason): [string, string] => ['    because', reason]),
    ['due times of schedules', findings.dueTimes],
    ['jobs told of by webhooks', findings.told],
    ['takeovers timed', recoveryMs.length],
    ['  p50', milliseconds(percentile(recoveryMs, 0.5))],
    ['  p95', milliseconds(percentile(recoveryMs, 0.95))],
    ['  max', milliseconds(recoveryMs.at(-1))],
    ...outageRows(outages),
    ['violations', findings.violations.length],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

function databasesOf({ engine, isSynchronous }: ChaosReport['options']): string {
  if (engine === 'patroni') return '3 PostgreSQL under Patroni, etcd, HAProxy'
  return `2 PostgreSQL and ${isSynchronous ? 'a synchronous' : 'an asynchronous'} replica`
}

/** Seconds without a success, for each kind of fault: median and longest. */
function outageRows(outages: ChaosReport['outages']): [string, string][] {
  if (outages.length === 0) return []
  const spread = (values: readonly number[]) => {
    const sorted = values.toSorted((a, b) => a - b)
    return [percentile(sorted, 0.5), sorted.at(-1)].map((ms) => (ms! / 1000).toFixed(1)).join(' / ')
  }
  const rows = outages.map(([fault, each]): [string, string] => [
    `  ${fault}`,
    `${each.length} x  writes ${spread(each.map(({ write }) => write))}  jobs ${spread(each.map(({ job }) => job))}`,
  ])
  return [['seconds without success', 'median / longest'], ...rows]
}

export function percentile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? '-' : `${value.toFixed(0)} ms`
}
