import type { ChaosReport } from './chaos.ts'

/** The result as a table of two columns. */
export function describe({ options, seconds, attacks, recoveryMs, findings }: ChaosReport): string {
  const total = Object.values(attacks).reduce((sum, count) => sum + count, 0)
  const rows: [string, string | number][] = [
    ['seed', options.seed],
    ['processes', `${options.servers} servers, ${options.workers} workers, 2 PostgreSQL and a replica`],
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
    ['tokens revoked', findings.revoked],
    ['  refused when tried again', findings.refused],
    ['  accepted', findings.accepted],
    ['takeovers timed', recoveryMs.length],
    ['  p50', milliseconds(percentile(recoveryMs, 0.5))],
    ['  p95', milliseconds(percentile(recoveryMs, 0.95))],
    ['  max', milliseconds(recoveryMs.at(-1))],
    ['violations', findings.violations.length],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

export function percentile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? '-' : `${value.toFixed(0)} ms`
}
