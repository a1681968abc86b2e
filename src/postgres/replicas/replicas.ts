import type { Log } from '../../log/log.ts'
import { remembered } from '../../remembered.ts'
import type { Host, Hosts } from '../hosts.ts'
import { homeOf, type SessionTarget } from '../session-target.ts'
import type { AskServer, ServerPlace } from './ask-server.ts'

/** A position in the log of a primary, and when it was asked for, by the monotonic clock. */
type Sample = Readonly<{ at: number; position: bigint }>

type State = {
  /** Everything that was stored on the primary at this moment has been replayed; by the monotonic clock. */
  freshAt: number
  replayed: bigint
  /** What the replica has not replayed yet, the oldest first. */
  ahead: Sample[]
  /** It answered the last question, and follows its primary. */
  isFollowing: boolean
}

/**
 * The replicas that may answer now, as far as this process knows. In the background the primary is asked for its position in
 * the log, and then each replica for the one that it has replayed. Once it is past a position of the primary, its data is not
 * older than the moment of that question. So no clocks of two machines are compared, and a request asks nobody.
 */
export class Replicas {
  readonly #hosts: Hosts
  readonly #ask: AskServer
  readonly #maxLagMs: number
  readonly #log: Log
  readonly #states = new Map<number, State>()
  readonly #targets = remembered((_target: SessionTarget) => new Map<number, SessionTarget>())
  #timer: NodeJS.Timeout | undefined
  #isAsking = false
  #turn = 0

  constructor(hosts: Hosts, ask: AskServer, maxLagMs: number, log: Log) {
    this.#hosts = hosts
    this.#ask = ask
    this.#maxLagMs = maxLagMs
    this.#log = log
    hosts.onMoved((id) => this.#states.delete(id))
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
   * How old the data is at most, in milliseconds. Undefined if the replica must not answer: it is too old, does not answer,
   * follows nobody, or has not replayed the last change of rights in the database.
   */
  ageOf(target: SessionTarget): number | undefined {
    const { hostId: id, database } = target
    const state = this.#states.get(id)
    if (!state?.isFollowing || !this.#hosts.has(id)) return undefined
    if (state.replayed < this.#hosts.fenceOf(homeOf(target), database)) return undefined
    const ageMs = performance.now() - state.freshAt
    return ageMs <= this.#maxLagMs ? ageMs : undefined
  }

  /** It has just failed: it is left out until it answers the next question. */
  missed(id: number): void {
    const state = this.#states.get(id)
    if (state) state.isFollowing = false
  }

  /** The same object for the same target, as with `sessionTargetOf`. */
  #targetOn(target: SessionTarget, { id }: Host): SessionTarget {
    const known = this.#targets(target)
    const there = known.get(id) ?? { ...target, hostId: id, replicaOf: target.hostId }
    known.set(id, there)
    return there
  }

  #askAll(): void {
    if (this.#isAsking) return
    const hostIds = new Set(this.#hosts.replicas().map(({ replicaOf }) => replicaOf!))
    if (hostIds.size === 0) return
    this.#isAsking = true
    void Promise.all([...hostIds].map((id) => this.#askHost(id))).finally(() => {
      this.#isAsking = false
    })
  }

  async #askHost(hostId: number): Promise<void> {
    const at = performance.now()
    const primary = await this.#ask(hostId, 'primary').catch(() => undefined)
    await Promise.all(this.#hosts.replicas(hostId).map((replica) => this.#askReplica(replica, primary, at)))
  }

  /** Without an answer of the primary, what it has replayed of earlier ones still counts. */
  async #askReplica({ id, name }: Host, primary: ServerPlace | undefined, at: number): Promise<void> {
    const state = this.#stateOf(id)
    const wasFollowing = state.isFollowing
    try {
      const replica = await this.#ask(id, 'standby')
      if (primary && !isSameHistory(primary, replica)) throw new Error('it does not follow its host')
      if (primary && state.ahead.length < mostAhead) state.ahead.push({ at, position: primary.position })
      state.replayed = replica.position
      const reached = state.ahead.findLastIndex(({ position }) => position <= replica.position)
      state.freshAt = state.ahead.splice(0, reached + 1).at(-1)?.at ?? state.freshAt
      state.isFollowing = true
    } catch (error) {
      state.isFollowing = false
      if (wasFollowing) this.#log.warn({ err: error, replica: name }, 'a replica cannot answer for its host')
    }
  }

  #stateOf(id: number): State {
    const known = this.#states.get(id)
    if (known) return known
    const state = { freshAt: Number.NEGATIVE_INFINITY, replayed: 0n, ahead: [], isFollowing: false }
    this.#states.set(id, state)
    return state
  }
}

const isSameHistory = (primary: ServerPlace, replica: ServerPlace) =>
  primary.identifier === replica.identifier && primary.timeline === replica.timeline

const everyMs = 500
/** Of a replica that is further behind than this many questions, the data counts as older than it is. */
const mostAhead = 1_000
