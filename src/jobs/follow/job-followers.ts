import type { PoolClient } from 'pg'
import type { Account } from '../../auth/account.ts'
import type { Config } from '../../config/config.ts'
import { isFinal } from '../../contract/job-status.ts'
import { errors } from '../../errors.ts'
import type { Log } from '../../log/log.ts'
import { Listener } from '../../postgres/control/listener.ts'
import type { Databases } from '../../postgres/databases.ts'
import type { Job } from '../job.ts'
import { findStoredJob, type StoredJob } from '../job-store.ts'
import { type QueuePlace, queuePlaceOf } from '../list-store.ts'
import { type JobProgress, medianOf, progressWith } from '../progress/job-progress.ts'
import { lookAtStatements, type SeenStatement } from '../progress/look-at-statements.ts'
import { followedChannel, markFollowed, readRevisions } from './follow-store.ts'

/** What is known of a job: the same object for all its followers, as long as nothing has changed. */
export type JobState = Readonly<{
  job: Job
  revision: number
  place: QueuePlace | undefined
  progress: JobProgress | undefined
}>

export type Follower = Readonly<{
  /** Called with each change. Undefined: the job no longer exists, or the service stops. */
  onState: (state: JobState | undefined) => void
  /** Sent, but not yet read by the client. */
  waitingBytes: () => number
}>

export type Followed = Readonly<{
  state: JobState
  leave: () => void
  /** Unread bytes of all followers of the account. */
  accountWaitingBytes: () => number
}>

type FollowedJob = {
  readonly account: Account
  readonly id: string
  readonly followers: Set<Follower>
  stored: StoredJob | undefined
  state: JobState | undefined
  /** The median time of the running statement, and the revision that it belongs to. */
  median: Readonly<{ revision: number; ms: number | undefined }> | undefined
  refreshing: Promise<void> | undefined
  isStale: boolean
}

/**
 * Tells followers of jobs of each change. One connection listens for all of them, opened by the first. Once a second it
 * also looks at all jobs at once, because a notification can be missing, and at what PostgreSQL tells about their
 * statements: one query for each host.
 */
export class JobFollowers {
  readonly #databases: Databases
  readonly #config: Config
  readonly #listener: Listener
  readonly #jobs = new Map<string, FollowedJob>()
  /** By the account. */
  readonly #followers = new Map<number, Set<Follower>>()
  /** Hosts whose statements are being looked at. */
  readonly #lookedAt = new Set<number>()
  #rounds = 0
  #isStopped = false

  constructor(databases: Databases, config: Config, log: Log) {
    this.#databases = databases
    this.#config = config
    this.#listener = new Listener(databases.control, log, {
      channel: followedChannel,
      everyMs: roundMs,
      answerMs,
      onMessage: (id) => this.#changed(id),
      onRound: (client) => this.#round(client),
    })
  }

  /** Follows a job of the account. Returns its state, and what ends the following; undefined: no such job. */
  async follow(account: Account, id: string, follower: Follower): Promise<Followed | undefined> {
    const key = `${account.userId} ${id}`
    const followed = this.#jobs.get(key) ?? newFollowed(account, id)
    this.#enter(key, followed, follower)
    const leave = () => this.#leave(key, followed, follower)
    try {
      await this.#listener.listen()
      await markFollowed(this.#databases.control, account, id)
      await this.#refresh(followed)
    } catch (error) {
      leave()
      throw error
    }
    if (followed.state && !followed.state.job.isImport)
      return { state: followed.state, leave, accountWaitingBytes: () => this.#waitingBytes(account) }
    leave()
    return undefined
  }

  #waitingBytes({ userId }: Account): number {
    let sum = 0
    for (const { waitingBytes } of this.#followers.get(userId) ?? []) sum += waitingBytes()
    return sum
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { followers } of this.#jobs.values()) for (const { onState } of followers) onState(undefined)
    await this.#listener.stop()
  }

  #enter(key: string, followed: FollowedJob, follower: Follower): void {
    const { userId } = followed.account
    const all = this.#followers.get(userId) ?? new Set()
    if (this.#isStopped) throw errors.shuttingDown()
    if (all.size >= mostFollowers) throw errors.tooManyFollowers(`${mostFollowers} requests follow jobs`)
    this.#followers.set(userId, all.add(follower))
    this.#jobs.set(key, followed)
    followed.followers.add(follower)
  }

  #leave(key: string, { account, followers }: FollowedJob, follower: Follower): void {
    if (!followers.delete(follower)) return
    const all = this.#followers.get(account.userId)!
    all.delete(follower)
    if (all.size === 0) this.#followers.delete(account.userId)
    if (followers.size === 0) this.#jobs.delete(key)
  }

  #changed(id: string): void {
    for (const followed of this.#jobs.values())
      if (followed.id === id) void this.#refresh(followed).catch(() => undefined)
  }

  /** One at a time for each job; a change meanwhile is read afterwards. */
  #refresh(followed: FollowedJob): Promise<void> {
    followed.isStale = true
    followed.refreshing ??= this.#readWhileStale(followed).finally(() => {
      followed.refreshing = undefined
    })
    return followed.refreshing
  }

  async #readWhileStale(followed: FollowedJob): Promise<void> {
    while (followed.isStale) {
      followed.isStale = false
      followed.stored = await findStoredJob(this.#databases.control, followed.account, followed.id)
      await this.#tell(followed, followed.state?.progress?.seen)
    }
  }

  async #round(client: PoolClient): Promise<void> {
    const jobs = [...this.#jobs.values()]
    if (jobs.length === 0) return
    this.#rounds += 1
    const rows = await readRevisions(client, jobs)
    const running: FollowedJob[] = []
    for (const followed of jobs) {
      const row = rows.get(followed.id)
      if (row && !row.isMarked) await markFollowed(client, followed.account, followed.id)
      if (row?.revision !== followed.stored?.revision) void this.#refresh(followed).catch(() => undefined)
      else if (isRunning(followed)) running.push(followed)
      else if (this.#isTurnOf(followed)) await this.#tell(followed, undefined).catch(() => undefined)
    }
    this.#lookAtAll(running)
  }

  /** The place in the queue takes a query for each job. */
  #isTurnOf({ stored, followers }: FollowedJob): boolean {
    if (stored?.job.status !== 'pending') return true
    const everyRounds = this.#jobs.size > fewJobs ? 10 : 1
    return (this.#rounds + followers.size) % everyRounds === 0
  }

  /** Not awaited: a host that does not answer holds up only the followers of its own jobs. */
  #lookAtAll(running: readonly FollowedJob[]): void {
    for (const hostId of new Set(running.map(({ account }) => account.hostId))) {
      if (this.#lookedAt.has(hostId)) continue
      this.#lookedAt.add(hostId)
      void this.#lookAt(
        hostId,
        running.filter(({ account }) => account.hostId === hostId),
      ).finally(() => this.#lookedAt.delete(hostId))
    }
  }

  /** One query for all jobs of a host; if it does not answer, it tells nothing. */
  async #lookAt(hostId: number, jobs: readonly FollowedJob[]): Promise<void> {
    const looked = jobs.map((followed) => ({ followed, stored: followed.stored! }))
    const watched = looked.flatMap(({ followed, stored }) =>
      stored.flight ? [{ flight: stored.flight, masterRole: followed.account.masterRole }] : [],
    )
    const statements =
      watched.length > 0 ? await lookAtStatements(this.#databases, hostId, watched).catch(() => []) : []
    const seen = new Map(watched.map(({ flight }, place) => [flight, statements[place]]))
    // A job that has changed meanwhile was told by its refresh.
    for (const { followed, stored } of looked)
      if (followed.stored === stored)
        await this.#tell(followed, stored.flight ? seen.get(stored.flight) : undefined).catch(() => undefined)
  }

  /** Tells the followers, if anything has changed that they see. */
  async #tell(followed: FollowedJob, seen: SeenStatement | undefined): Promise<void> {
    const { stored } = followed
    const state = stored && (await this.#stateOf(followed, stored, seen))
    if (followed.stored !== stored || isSame(followed.state, state)) return
    followed.state = state
    for (const { onState } of [...followed.followers]) onState(state)
  }

  async #stateOf(
    followed: FollowedJob,
    { job, revision, userId }: StoredJob,
    seen: SeenStatement | undefined,
  ): Promise<JobState> {
    const { control } = this.#databases
    const place =
      job.status === 'pending'
        ? await queuePlaceOf(control, this.#config, followed.account, followed.id)
        : undefined
    if (job.status !== 'running') return { job, revision, place, progress: undefined }
    if (followed.median?.revision !== revision)
      followed.median = { revision, ms: await medianOf(this.#databases, userId, job) }
    return { job, revision, place, progress: progressWith(job, seen, followed.median.ms) }
  }
}

function newFollowed(account: Account, id: string): FollowedJob {
  return {
    account,
    id,
    followers: new Set(),
    stored: undefined,
    state: undefined,
    median: undefined,
    refreshing: undefined,
    isStale: false,
  }
}

const isRunning = ({ stored }: FollowedJob) => stored?.job.status === 'running'

/** The time that has passed is no change by itself: a client counts eta_ms down. */
function isSame(one: JobState | undefined, other: JobState | undefined): boolean {
  if (!one || !other) return one === other
  if (one.revision !== other.revision || isFinal(one.job.status)) return one.revision === other.revision
  return JSON.stringify(shownOf(one)) === JSON.stringify(shownOf(other))
}

function shownOf({ place, progress }: JobState) {
  const { phase, percent, lock, blockers = [] } = progress?.seen ?? {}
  const hasEta = progress?.etaMs !== undefined
  return [place, progress?.item, phase, percent, lock, blockers.map(({ pid }) => pid), hasEta]
}

const roundMs = 1_000
const fewJobs = 50
const answerMs = 5_000
const mostFollowers = 1_000
