import type { Log } from '../../log/log.ts'
import { remembered } from '../../remembered.ts'
import type { Host, Hosts } from '../hosts.ts'
import { homeOf, type SessionTarget } from '../session-target.ts'
import type { AskServer, ServerPlace } from './ask-server.ts'

/** A position in the log of a primary, and when it was asked for, by the monotonic clock. */
type Sample = Readonly<{ at: number; position: bigint }>

type ReplicaState = {
  /** Everything that was stored on the primary at this moment has been replayed; by the monotonic clock. */
  freshAt: number
  replayed: bigint
  /** What the replica has not replayed yet, the oldest first. */
  ahead: Sample[]
  /** The replica answered the last question and follows its primary. */
  isFollowing: boolean
  /** How many questions it has left unanswered, one after the other. */
  misses: number
  /** What to call if it is lost. */
  runs: Set<() => void>
}

/**
 * The replicas that may answer now, as far as this process knows. In the background it asks each primary for its
 * position in the log, and each replica for the position that it has replayed. When a replica has passed a position of
 * the primary, its data is not older than the moment of that question. So clocks of two machines are never compared,
 * and a request needs no question of its own.
 */
export class Replicas {
  readonly #hosts: Hosts
  readonly #ask: AskServer
  readonly #maxLagMs: number
  readonly #log: Log
  readonly #states = new Map<number, ReplicaState>()
  /** What the hosts answered last. */
  readonly #primaries = new Map<number, ServerPlace>()
  /** Servers that have not answered yet. */
  readonly #asked = new Set<number>()
  readonly #targets = remembered((_target: SessionTarget) => new Map<number, SessionTarget>())
  #timer: NodeJS.Timeout | undefined
  #turn = 0

  constructor(hosts: Hosts, ask: AskServer, maxLagMs: number, log: Log) {
    this.#hosts = hosts
    this.#ask = ask
    this.#maxLagMs = maxLagMs
    this.#log = log
    hosts.onMoved((id) => this.#forget(id))
  }

  /** Until then no replica is chosen. */
  start(): void {
    this.#timer ??= setInterval(() => this.#askAll(), everyMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** One of the replicas that may answer for this target, each in turn. */
  choose(target: SessionTarget): SessionTarget | undefined {
    const fit = this.#hosts
      .replicas(target.hostId)
      .map((replica) => this.#targetOn(target, replica))
      .filter((there) => this.ageOf(there) !== undefined)
    this.#turn += 1
    return fit[this.#turn % fit.length]
  }

  /**
   * How old the data is at most, in milliseconds. Undefined if the replica must not answer: it is too old, does not
   * answer, does not follow its primary, or has not replayed the last change of rights in the database.
   */
  ageOf(target: SessionTarget): number | undefined {
    const { hostId: id, database } = target
    const state = this.#states.get(id)
    if (!state?.isFollowing || !this.#hosts.has(id)) return undefined
    if (state.replayed < this.#hosts.fenceOf(homeOf(target), database)) return undefined
    const ageMs = performance.now() - state.freshAt
    return ageMs <= this.#maxLagMs ? ageMs : undefined
  }

  /**
   * A request has failed there: it is asked at once. Only its own answers decide whether it is used, as callers can make their own
   * requests fail.
   */
  recheck(id: number): void {
    const replica = this.#hosts.replicas().find((each) => each.id === id)
    if (replica && this.#timer) this.#askOnce(replica, () => this.#askReplica(replica))
  }

  /** What runs there could not be ended in time. */
  couldNotEnd(id: number, error: unknown): void {
    const replica = this.#hosts.has(id) ? this.#hosts.get(id).name : id
    this.#log.warn({ err: error, replica }, 'statements on a replica could not be ended')
    this.recheck(id)
  }

  /** Calls `lost` if the replica leaves several questions unanswered. Returns how to stop that. */
  onLost(id: number, lost: () => void): () => void {
    const { runs } = this.#stateOf(id)
    // A separate entry for each call, because the same function may be given twice.
    const entry = () => lost()
    runs.add(entry)
    return () => runs.delete(entry)
  }

  /** The same object for the same target, as with `sessionTargetOf`. */
  #targetOn(target: SessionTarget, { id }: Host): SessionTarget {
    const known = this.#targets(target)
    const there = known.get(id) ?? { ...target, hostId: id, replicaOf: target.hostId }
    known.set(id, there)
    return there
  }

  #askAll(): void {
    const replicas = this.#hosts.replicas()
    for (const id of new Set(replicas.map(({ replicaOf }) => replicaOf!))) {
      if (!this.#hosts.has(id)) continue
      const host = this.#hosts.get(id)
      this.#askOnce(host, () => this.#askPrimary(host))
    }
    for (const replica of replicas) this.#askOnce(replica, () => this.#askReplica(replica))
  }

  /** Each server by itself: one that hangs holds up no other. */
  #askOnce({ id }: Host, ask: () => Promise<void>): void {
    if (this.#asked.has(id)) return
    this.#asked.add(id)
    void ask().finally(() => this.#asked.delete(id))
  }

  /** Without an answer, what the replicas have replayed of earlier ones still counts. */
  async #askPrimary(host: Host): Promise<void> {
    const at = performance.now()
    const place = await this.#ask(host.id, 'primary').catch(() => undefined)
    if (!place || !this.#hosts.isCurrent(host)) return
    const before = this.#primaries.get(host.id)
    this.#primaries.set(host.id, place)
    for (const { id } of this.#hosts.replicas(host.id)) {
      const state = this.#stateOf(id)
      if (before && !isSameHistory(before, place)) forgetAge(state)
      if (state.ahead.length < mostAhead) state.ahead.push({ at, position: place.position })
    }
  }

  async #askReplica(replica: Host): Promise<void> {
    const state = this.#stateOf(replica.id)
    try {
      const place = await this.#ask(replica.id, 'standby')
      state.misses = 0
      const primary = this.#primaries.get(replica.replicaOf!)
      if (!primary || !isSameHistory(primary, place)) throw new Error('it does not follow its host')
      // Another server, or an older copy of it.
      if (place.position < state.replayed) state.freshAt = Number.NEGATIVE_INFINITY
      state.replayed = place.position
      const reached = state.ahead.findLastIndex(({ position }) => position <= place.position)
      state.freshAt = state.ahead.splice(0, reached + 1).at(-1)?.at ?? state.freshAt
      state.isFollowing = true
    } catch (error) {
      this.#leaveOut(replica, state, error)
    }
  }

  #leaveOut({ name }: Host, state: ReplicaState, error: unknown): void {
    if (state.isFollowing)
      this.#log.warn({ err: error, replica: name }, 'a replica cannot answer for its host')
    state.isFollowing = false
    state.freshAt = Number.NEGATIVE_INFINITY
    state.misses += 1
    if (state.misses >= mostMisses) for (const lost of state.runs) lost()
  }

  #forget(id: number): void {
    this.#primaries.delete(id)
    this.#states.delete(id)
    for (const replica of this.#hosts.replicas(id)) this.#states.delete(replica.id)
  }

  #stateOf(id: number): ReplicaState {
    const known = this.#states.get(id)
    if (known) return known
    const state: ReplicaState = {
      freshAt: Number.NEGATIVE_INFINITY,
      replayed: 0n,
      ahead: [],
      isFollowing: false,
      misses: 0,
      runs: new Set(),
    }
    this.#states.set(id, state)
    return state
  }
}

/** The positions of another history mean nothing. */
function forgetAge(state: ReplicaState): void {
  state.isFollowing = false
  state.freshAt = Number.NEGATIVE_INFINITY
  state.replayed = 0n
  state.ahead = []
}

const isSameHistory = (primary: ServerPlace, replica: ServerPlace) =>
  primary.identifier === replica.identifier && primary.timeline === replica.timeline

const everyMs = 500
/** A busy server may be late once: what runs there goes on. */
const mostMisses = 3
/** If a replica is more than this many questions behind, its data counts as older than it is. */
const mostAhead = 1_000
