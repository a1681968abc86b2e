import type { ImportCounts, Imports } from './imports.ts'
import { insist } from './insist.ts'
import { type Evidence, type Judgement, judgeJob } from './judge-job.ts'
import { keyOf, readLedgers, recordedEntries } from './ledger.ts'
import type { Load } from './load.ts'
import type { MoveCounts, Moves } from './places.ts'
import type { LostTail } from './postgres/tenant-host.ts'
import type { Revocations } from './revocations.ts'
import type { Schedules } from './schedules.ts'
import type { Stage } from './stage.ts'
import type { Uploads } from './uploads.ts'
import type { Writes } from './writes.ts'

export type Clients = Readonly<{
  load: Load
  imports: Imports
  uploads: Uploads
  revocations: Revocations
  writes: Writes
  schedules: Schedules
  moves: Moves
}>

type Totals = Omit<Judgement, 'problems'>

export type Findings = Totals &
  Readonly<{
    jobs: number
    byStatus: Readonly<Record<string, number>>
    failovers: number
    /** Committed before a fail-over and not yet on the replica: the price of asynchronous replication. */
    lostTransactions: number
    endedCommits: number
    revoked: number
    refused: number
    accepted: number
    writes: Writes['counts']
    imports: ImportCounts
    uploads: Uploads['counts']
    moves: MoveCounts
    dueTimes: number
    /** Jobs whose end the receiver of webhooks was sent. */
    told: number
    violations: readonly string[]
  }>

/** Compares the jobs, the ledger and the counters. */
export async function verify(
  stage: Stage,
  { load, imports, uploads, revocations, writes, schedules, moves }: Clients,
  { wasGentle, jobsPerUser }: Readonly<{ wasGentle: boolean; jobsPerUser: number }>,
  tell: (words: string) => void,
): Promise<Findings> {
  tell('the ledgers are being read')
  const ledgers = await insist(() => readLedgers(stage))
  const timesApplied = new Map<string, number>()
  for (const entry of ledgers.flat()) timesApplied.set(entry, (timesApplied.get(entry) ?? 0) + 1)
  const evidence = await evidenceOf(stage, timesApplied, wasGentle)
  const { totals, byStatus, problems } = await judgeJobs(load, evidence, tell)
  tell('the imports are judged')
  const lostTails = stage.hosts?.second.lostTails ?? []
  const wasInLostTail = (entry: string) => isInLostTail(lostTails, entry)
  const imported = await imports.judge({ ...evidence, isInLostTail: wasInLostTail })
  const moved = await moves.judge()
  const scheduled = await schedules.judge()
  const webhooks = await stage.told.judge(stage.admin)
  return {
    ...totals,
    jobs: load.jobs.length,
    byStatus,
    ...failoversOf(stage, lostTails),
    revoked: revocations.count,
    refused: revocations.refused,
    accepted: revocations.accepted.size,
    writes: writes.counts,
    imports: imported.counts,
    uploads: uploads.counts,
    moves: moved.counts,
    dueTimes: scheduled.dueTimes,
    told: webhooks.told,
    violations: [
      ...webhooks.problems,
      ...moved.problems,
      ...load.surprises.map(({ plan, what }) => `${plan.key}: ${what}`),
      ...revocations.accepted.values(),
      ...[revocations, writes, imports, uploads].flatMap(({ surprises }) => surprises),
      ...imported.problems,
      ...problems,
      ...scheduled.problems,
      ...writes.judge({ ...evidence, isLostByReplication: wasInLostTail }),
      ...uploads.judge({ ...evidence, isLostByReplication: wasInLostTail }),
      ...unknownEntries(
        [...load.jobs, ...load.surprises]
          .map(({ plan }) => plan.key)
          .concat(writes.keys, imports.keys, uploads.keys),
        timesApplied.keys(),
      ),
      ...(jobsPerUser === 1 ? await overtakings(stage, ledgers) : []),
      ...(await strayRows(stage, load.jobs.length)),
      ...lostTails.flatMap(falselyDone),
      ...troublesOf(stage),
      ...crashes(stage),
    ],
  }
}

const failoversOf = ({ hosts }: Stage, lostTails: readonly LostTail[]) => ({
  failovers: lostTails.length,
  lostTransactions: lostTails.reduce((sum, { entries }) => sum + entries.size, 0),
  endedCommits: hosts?.second.endedCommits ?? 0,
})

async function evidenceOf(
  stage: Stage,
  timesApplied: ReadonlyMap<string, number>,
  wasGentle: boolean,
): Promise<Evidence> {
  return {
    timesApplied: (entry) => timesApplied.get(entry) ?? 0,
    timesSent: (entry) => stage.sent.times(entry),
    isLostByReplication: await lossesByReplication(stage),
    wasGentle,
  }
}

async function judgeJobs(load: Load, evidence: Evidence, tell: (words: string) => void) {
  const byStatus: Record<string, number> = {}
  const totals = { statements: 0, givenUp: 0, unknown: 0, lostByReplication: 0, sentAgain: 0 }
  const problems: string[] = []
  let judged = 0
  const waiting = load.jobs.values()
  const judgeNext = async () => {
    for (const played of waiting) {
      const now = await load.read(played)
      if (!now) continue
      byStatus[now.status] = (byStatus[now.status] ?? 0) + 1
      const judgement = judgeJob(played, now, evidence)
      for (const name of Object.keys(totals) as (keyof Totals)[]) totals[name] += judgement[name]
      problems.push(...judgement.problems)
      judged += 1
      tell(`${judged} of ${load.jobs.length} jobs are judged`)
    }
  }
  await Promise.all(Array.from({ length: readsAtOnce }, judgeNext))
  tell('the queues are being read')
  return { totals, byStatus, problems }
}

const readsAtOnce = 8

/**
 * Whether an entry was committed on a primary, called done, and then lost with the end of its log: recorded before the
 * new primary could be queried, or settled while the old one still lived.
 */
async function lossesByReplication(stage: Stage): Promise<(entry: string) => boolean> {
  const settledAt = await insist(() => recordedEntries(stage, everMinutes))
  return (entry) =>
    (stage.hosts?.second.lostTails ?? []).some(
      ({ entries, recorded, at, isSynchronous }) =>
        !isSynchronous && entries.has(entry) && (recorded.has(entry) || settledAt.get(entry)! < at),
    )
}

const everMinutes = 1_000_000

/** Where commits wait for the replica, nothing is called done that a promoted replica does not have. */
function falselyDone({ entries, recorded, isSynchronous }: LostTail): string[] {
  const found = isSynchronous ? [...entries].filter((entry) => recorded.has(entry)) : []
  return found.map((entry) => `${entry}: called done, and the promoted synchronous replica does not have it`)
}

function troublesOf({ hosts, patroni }: Stage): readonly string[] {
  const troubles = [...(hosts?.second.troubles ?? []), ...(patroni?.troubles ?? [])]
  return troubles.map((words) => `a fail-over did not succeed: ${words}`)
}

/** With asynchronous replication stored rows may be lost, whatever the answer was. */
function isInLostTail(lostTails: readonly LostTail[], entry: string): boolean {
  return lostTails.some(({ entries, isSynchronous }) => !isSynchronous && entries.has(entry))
}

function unknownEntries(known: readonly string[], entries: Iterable<string>): string[] {
  const keys = new Set(known)
  return [...entries].filter((entry) => !keys.has(keyOf(entry))).map((entry) => `${entry}: of no known job`)
}

/** One by one, the jobs of a user run oldest first. (A job that was given up may have run on beside the next.) */
async function overtakings(stage: Stage, ledgers: readonly (readonly string[])[]): Promise<string[]> {
  const { rows } = await insist(() =>
    stage.admin(
      `select idempotency_key as key, position::integer from cartage.jobs where status = 'done' and not is_import`,
    ),
  )
  const positions = new Map(rows.map(({ key, position }) => [key as string, position as number]))
  return ledgers.flatMap((entries) => {
    let newest = 0
    return entries.flatMap((entry) => {
      const position = positions.get(keyOf(entry)) ?? newest
      const isOvertaken = position < newest
      newest = Math.max(newest, position)
      return isOvertaken ? [`${entry}: after a younger job of its user`] : []
    })
  })
}

function crashes({ servers, workers }: Stage): string[] {
  return [...servers, ...workers].flatMap(({ process: { role, crashes } }) =>
    crashes.map((words) => `a ${role} process crashed: ${words}`),
  )
}

/** Checks that each request created one job, and the queues are empty. */
async function strayRows(stage: Stage, jobs: number): Promise<string[]> {
  const { rows } = await insist(() =>
    stage.admin(
      `select (select count(*) from cartage.jobs where definition ->> 'schedule' is null and not is_import)::integer as jobs,
              (select count(*) from cartage.jobs where finished_at is null)::integer as unfinished,
              (select coalesce(sum(pending + running + delayed), 0) from cartage.job_queues)::integer as queued`,
    ),
  )
  const found = rows[0]
  return [
    ...(found.jobs === jobs ? [] : [`${found.jobs} jobs in the database for ${jobs} requests`]),
    ...(found.unfinished === 0 ? [] : [`${found.unfinished} jobs are not final`]),
    ...(found.queued === 0 ? [] : [`the counters of the queues say ${found.queued}`]),
  ]
}
