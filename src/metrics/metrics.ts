import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { FinalStatus } from '../contract/job-status.ts'
import { type FinishedRequest, tallyRequests } from './request-tally.ts'

/** What the parts of a process report about their work. No label has values that a client could invent. */
export type Metrics = Readonly<{
  requestFinished: (request: FinishedRequest) => void
  jobFinished: (job: FinishedJob) => void
  /** The job's worker is gone, and this process takes the job over. */
  jobTakenOver: () => void
  copyFinished: (copy: FinishedCopy) => void
  authenticationRefused: () => void
  rateLimited: (group: string) => void
  /** Read at every scrape. */
  watchPools: (read: () => readonly PoolStats[]) => void
  watchQueue: (read: () => Promise<QueueStats>) => void
  watchHosts: (read: () => Promise<ReadonlyMap<string, HostStats>>) => void
  /** The guard of a host has ended something; `look` names the check that found it. */
  guardEnded: (look: string) => void
  watchGuard: (read: () => number) => void
  /** `reason` names what ended it. */
  sessionEnded: (reason: string) => void
  watchSessions: (read: () => SessionStats) => void
  /** The Prometheus text format. */
  render: () => Promise<Readonly<{ type: string; text: string }>>
}>

export type FinishedJob = Readonly<{
  status: FinalStatus
  /** From its creation to its start; from its start to its end. */
  waitMs: number
  runMs: number
}>
export type FinishedCopy = Readonly<{
  direction: 'from' | 'to'
  isComplete: boolean
  /** On the wire, as the client sent or received them. */
  bytes: number
  rows: number
  ms: number
}>
export type PoolStats = Readonly<{
  name: string
  open: number
  idle: number
  waiting: number
  destroyed: number
}>
export type HostStats = Readonly<{ notifyQueue: number; xidAge: number; snapshotSeconds: number }>
export type SessionStats = Readonly<{ open: number; inTransaction: number }>
export type QueueStats = Readonly<{ pending: number; running: number }>

/** The instruments of one process, in their own registry. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    ...requestInstruments(registry),
    ...jobInstruments(registry),
    ...copyInstruments(registry),
    ...poolInstruments(registry),
    ...hostInstruments(registry),
    ...guardInstruments(registry),
    ...sessionInstruments(registry),
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  }
}

function requestInstruments(registry: Registry) {
  const registers = [registry]
  const refused = new Counter({
    name: 'cartage_authentications_refused_total',
    help: 'Requests with a wrong credential',
    registers,
  })
  const limited = new Counter({
    name: 'cartage_rate_limited_total',
    help: 'Requests refused by a rate limit, by endpoint group',
    labelNames: ['group'],
    registers,
  })
  return {
    requestFinished: tallyRequests(registry),
    authenticationRefused: () => refused.inc(),
    rateLimited: (group: string) => limited.inc({ group }),
  }
}

function jobInstruments(registry: Registry) {
  const registers = [registry]
  const buckets = [0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 1800, 3600, 4 * 3600, 12 * 3600]
  const finished = new Counter({
    name: 'cartage_jobs_finished_total',
    help: 'Jobs that this process brought to a final status',
    labelNames: ['status'],
    registers,
  })
  const wait = new Histogram({
    name: 'cartage_job_wait_seconds',
    help: 'From the creation of a job to its start',
    buckets,
    registers,
  })
  const run = new Histogram({
    name: 'cartage_job_run_seconds',
    help: 'From the start of a job to its end',
    buckets,
    registers,
  })
  const takenOver = new Counter({
    name: 'cartage_jobs_taken_over_total',
    help: 'Jobs of dead workers that this process took over',
    registers,
  })
  const source = { read: async (): Promise<QueueStats> => ({ pending: 0, running: 0 }) }
  new Gauge({
    name: 'cartage_jobs',
    help: 'Jobs of all users by state, from the control database: the same in every process',
    labelNames: ['state'],
    registers,
    async collect() {
      // If the control database does not answer, the other figures must still be shown.
      const queue = await source.read().catch(() => undefined)
      this.reset()
      if (!queue) return
      this.set({ state: 'pending' }, queue.pending)
      this.set({ state: 'running' }, queue.running)
    },
  })
  return {
    jobFinished: ({ status, waitMs, runMs }: FinishedJob) => {
      finished.inc({ status })
      wait.observe(waitMs / 1000)
      run.observe(runMs / 1000)
    },
    jobTakenOver: () => takenOver.inc(),
    watchQueue: (read: () => Promise<QueueStats>) => {
      source.read = read
    },
  }
}

function copyInstruments(registry: Registry) {
  const registers = [registry]
  const copies = new Counter({
    name: 'cartage_copies_total',
    help: 'Copies that ended, by direction and outcome',
    labelNames: ['direction', 'outcome'],
    registers,
  })
  const bytes = new Counter({
    name: 'cartage_copy_bytes_total',
    help: 'Bytes copied, as on the wire',
    labelNames: ['direction'],
    registers,
  })
  const rows = new Counter({
    name: 'cartage_copy_rows_total',
    help: 'Rows copied',
    labelNames: ['direction'],
    registers,
  })
  const rate = new Histogram({
    name: 'cartage_copy_bytes_per_second',
    help: 'Rate of each complete copy',
    labelNames: ['direction'],
    buckets: [1e4, 1e5, 1e6, 5e6, 1e7, 2.5e7, 5e7, 1e8, 2.5e8, 1e9],
    registers,
  })
  return {
    copyFinished: (copy: FinishedCopy) => {
      const { direction } = copy
      copies.inc({ direction, outcome: copy.isComplete ? 'complete' : 'failed' })
      bytes.inc({ direction }, copy.bytes)
      rows.inc({ direction }, copy.rows)
      if (copy.isComplete) rate.observe({ direction }, (copy.bytes * 1000) / Math.max(copy.ms, 1))
    },
  }
}

function poolInstruments(registry: Registry) {
  const source = { read: (): readonly PoolStats[] => [] }
  const gauge = (name: string, help: string, value: (stats: PoolStats) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['pool'],
      registers: [registry],
      collect() {
        for (const stats of source.read()) this.set({ pool: stats.name }, value(stats))
      },
    })
  gauge('cartage_pool_open', 'Open database connections', ({ open }) => open)
  gauge('cartage_pool_idle', 'Open database connections that are not in use', ({ idle }) => idle)
  gauge('cartage_pool_waiting', 'Callers waiting for a database connection', ({ waiting }) => waiting)
  const destroyed = new Counter({
    name: 'cartage_pool_destroyed_total',
    help: 'Database connections that were closed',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      destroyed.reset()
      for (const stats of source.read()) destroyed.inc({ pool: stats.name }, stats.destroyed)
    },
  })
  return {
    watchPools: (read: () => readonly PoolStats[]) => {
      source.read = read
    },
  }
}

/** Resources of a cluster that all its tenants share; a host that does not answer is left out. */
function hostInstruments(registry: Registry) {
  const source = { read: async (): Promise<ReadonlyMap<string, HostStats>> => new Map() }
  let reading: ReturnType<typeof source.read> | undefined
  // One query for all figures of a scrape.
  const readTogether = () => {
    reading ??= source.read().finally(() => {
      reading = undefined
    })
    return reading.catch(() => new Map<string, HostStats>())
  }
  const gauge = (name: string, help: string, value: (stats: HostStats) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['host'],
      registers: [registry],
      async collect() {
        const hosts = await readTogether()
        this.reset()
        for (const [host, stats] of hosts) this.set({ host }, value(stats))
      },
    })
  gauge(
    'cartage_host_notify_queue_ratio',
    'Fill level of the notification queue, from 0 to 1',
    ({ notifyQueue }) => notifyQueue,
  )
  gauge(
    'cartage_host_xid_age',
    'Transactions since the oldest unfrozen one; PostgreSQL stops at 2147 million',
    ({ xidAge }) => xidAge,
  )
  gauge(
    'cartage_host_oldest_snapshot_seconds',
    'How long the oldest snapshot has held back VACUUM',
    ({ snapshotSeconds }) => snapshotSeconds,
  )
  return {
    watchHosts: (read: typeof source.read) => {
      source.read = read
    },
  }
}

function guardInstruments(registry: Registry) {
  const source = { read: () => 0 }
  const ended = new Counter({
    name: 'cartage_guard_ended_total',
    help: 'What the guard of the hosts has ended, by check',
    labelNames: ['look'],
    registers: [registry],
  })
  new Gauge({
    name: 'cartage_guard_hosts',
    help: 'Database hosts that this process watches now',
    registers: [registry],
    collect() {
      this.set(source.read())
    },
  })
  return {
    guardEnded: (look: string) => ended.inc({ look }),
    watchGuard: (read: () => number) => {
      source.read = read
    },
  }
}

function sessionInstruments(registry: Registry) {
  const source = { read: (): SessionStats => ({ open: 0, inTransaction: 0 }) }
  const ended = new Counter({
    name: 'cartage_sessions_ended_total',
    help: 'Sessions that ended, by reason',
    labelNames: ['reason'],
    registers: [registry],
  })
  new Gauge({
    name: 'cartage_sessions',
    help: 'Open sessions, and how many of them are in a transaction',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { open, inTransaction } = source.read()
      this.set({ state: 'open' }, open)
      this.set({ state: 'in_transaction' }, inTransaction)
    },
  })
  return {
    sessionEnded: (reason: string) => ended.inc({ reason }),
    watchSessions: (read: () => SessionStats) => {
      source.read = read
    },
  }
}
