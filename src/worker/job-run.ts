import { type ClaimedJob, reloadJob } from '../jobs/claim-store.ts'
import type { Job } from '../jobs/job.ts'
import { accepted, requeue, type Transition } from '../jobs/job-state.ts'
import type { Flight } from '../jobs/job-store.ts'
import { endOf, type JobWrite } from '../jobs/write-jobs.ts'
import { firstHostId } from '../postgres/hosts.ts'
import type { Session } from '../postgres/session.ts'
import { flushHost } from './flush-host.ts'
import { insist } from './insist.ts'
import type { GivenJob, WriteResult } from './job-writer.ts'
import type { WorkContext } from './work-context.ts'

/** One job in our hands, as the next write will say. */
export type JobRun = {
  readonly claimed: ClaimedJob
  /** The life of the server in which everything here was learnt. */
  readonly life: string
  job: Job
  flight: Flight | null
  losses: number
  /** Something here is true in this life only: a commit that need not be on the disk yet. */
  restsOnLife: boolean
  /** How often in a row a step could not even be begun. */
  unsent: number
  session: Session | null
  /** The transaction that is open on the session, for the next step. It may have been announced already. */
  ahead: Flight | null
  /** It has ended, and we were given another one in its place. */
  isReplaced: boolean
}

/** Why we stop before the job has ended. */
export type Interruption = 'given back' | 'no longer ours' | 'other life'

export function beginRun({ life }: WorkContext, { claimed, begun }: GivenJob): JobRun {
  const isAnnounced = begun !== undefined && claimed.flight !== null
  return {
    claimed,
    life: begun?.life ?? life.id,
    job: claimed.job,
    flight: isAnnounced ? begun.flight : claimed.flight,
    losses: claimed.losses,
    restsOnLife: false,
    unsent: 0,
    session: begun?.session ?? null,
    ahead: begun?.flight ?? null,
    isReplaced: false,
  }
}

/** The next step is in flight already, in the transaction that was begun for it. */
export function isAnnounced({ flight, ahead }: JobRun): boolean {
  return flight !== null && flight === ahead
}

/** From what the database says, after the server has crashed: what we knew besides may no longer be so. */
export async function beginAgain(context: WorkContext, run: JobRun): Promise<JobRun | undefined> {
  await insist(context, () => context.life.renew())
  const claimed = await insist(context, () => reloadJob(context.databases.control, run.claimed))
  return claimed && { ...beginRun(context, { claimed, begun: undefined }), session: run.session }
}

export function isBesideControl({ claimed }: JobRun): boolean {
  return claimed.target.hostId === firstHostId
}

export function advance(run: JobRun, transition: Transition): void {
  run.job = accepted(transition)
  run.flight = null
  run.losses = 0
  run.unsent = 0
}

/**
 * Writes down that a statement is about to be sent. That must be on the disk before it is, and so must the xid on its
 * own host: one that nobody flushed past is given out again after a crash of that server.
 */
export async function announce(
  context: WorkContext,
  run: JobRun,
  flight: Flight,
): Promise<Interruption | undefined> {
  const { databases } = context
  if (flight.xid !== null && !isBesideControl(run)) {
    const isFlushed = await flushHost(databases, run.claimed.target.hostId, flight).catch(() => false)
    if (!isFlushed) return 'other life'
  }
  run.flight = flight
  if (flight.xid !== null && isBesideControl(run)) run.restsOnLife = true
  return save(context, run)
}

export async function save(context: WorkContext, run: JobRun): Promise<Interruption | undefined> {
  return followUp(run, await write(context, writeOf(run)))
}

/** A job of which nothing has run goes back to its place in the queue; another stays running, without a worker. */
export async function giveBack(context: WorkContext, run: JobRun): Promise<Interruption> {
  const isUntouched = !run.flight && run.job.items.every(({ status }) => status === 'pending')
  const job = isUntouched ? accepted(requeue(run.job, new Date())) : run.job
  const written = await write(context, { ...writeOf(run), job, isReleased: true })
  return followUp(run, written) ?? 'given back'
}

export async function end(context: WorkContext, run: JobRun): Promise<Interruption | undefined> {
  const { claimed, job } = run
  standBy(context, run)
  const ended = await write(context, endOf(claimed, job, writeOf(run).life))
  run.isReplaced = ended.isReplaced
  if (ended.outcome === 'written') tell(context, job, ended.at)
  return followUp(run, ended)
}

/** What was begun ahead is for the next job of the user. */
function standBy({ standby }: WorkContext, run: JobRun): void {
  const { claimed, session, ahead: flight, life } = run
  standby.noteEnd(claimed.userId)
  if (!session || !flight) return
  standby.put({ userId: claimed.userId, session, flight, life, begunAt: performance.now() })
  run.session = null
  run.ahead = null
}

function write(context: WorkContext, what: JobWrite): Promise<WriteResult> {
  return insist(context, () => context.writer.write(what))
}

function writeOf({ claimed, job, flight, losses, life, restsOnLife }: JobRun): JobWrite {
  return { from: claimed, job, flight, losses, life: restsOnLife ? life : null, isReleased: false }
}

function followUp(run: JobRun, { outcome }: WriteResult): Interruption | undefined {
  if (outcome === 'other life') return 'other life'
  if (outcome === 'not ours') return 'no longer ours'
  run.restsOnLife = false
  return undefined
}

function tell({ metrics }: WorkContext, job: Job, endedAt: Date): void {
  const startedAt = job.items[0]?.startedAt ?? endedAt
  metrics?.jobFinished({
    status: job.status as 'done' | 'failed' | 'cancelled' | 'unknown',
    waitMs: Math.max(0, startedAt.getTime() - job.createdAt.getTime()),
    runMs: Math.max(0, endedAt.getTime() - startedAt.getTime()),
  })
}
