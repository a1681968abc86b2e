import type { SetLimits } from '../../contract/admin-names.ts'
import type { HeldLimit } from '../../contract/usage-names.ts'
import { errors } from '../../errors.ts'
import { remembered } from '../../remembered.ts'
import { Session } from '../session.ts'
import { homeOf, type SessionTarget } from '../session-target.ts'
import { type EndBackend, ForgottenSessions, type LookAtBackends } from './forgotten-sessions.ts'
import { type AbortLike, throwIfAborted } from './interruption.ts'
import type { LingeringBackends } from './lingering-backends.ts'
import { type LogInOptions, logIn } from './log-in.ts'
import type { PausedRoles } from './paused-roles.ts'
import { type GiveBack, type SlotHolder, Slots } from './slots.ts'

export type RolePoolsOptions = LogInOptions &
  Readonly<{
    maxPerHost: number
    maxPerRole: number
    /** Unlimited by default. */
    maxPerAccount?: number
    maxAnonymousPerAccount?: number
    /** The limit of an account that `maxPerAccount` is, for the error. */
    accountLimit?: HeldLimit
    /** For accounts with limits of their own. */
    own?: (limits: SetLimits) => OwnLimits
    /** Time after which an idle connection is closed. */
    idleMs: number
    /** The longest silence while waiting for one of our own statements. */
    answerMs: number
    /** Tells when the backend of a cut connection has ended; without it, that is not awaited. */
    lingering?: LingeringBackends
    /** Without it, no role is paused. */
    paused?: PausedRoles
    /** How to find half-dead connections; without it, they are not looked for. */
    backends?: Readonly<{ look: LookAtBackends; end: EndBackend }>
  }>

export type OwnLimits = Readonly<{
  /** Connections of the account, in place of those of an account and of a role. */
  most?: number | undefined
  /** A start-up setting, as SQL of the caller can change it and DISCARD ALL returns to it. */
  statementTimeoutMs?: number | undefined
}>

type RolePool = { target: SessionTarget; open: number; idle: Session[] }
type HostUse = { open: number; slots: Slots }

/**
 * Connections per role, with one limit per host. A connection is cleaned before reuse, and destroyed when in doubt. At
 * the limit, the longest idle connection of another role is closed; then callers queue. (pg.Pool has neither a shared
 * limit nor cleaning.)
 */
export class RolePools {
  readonly #options: RolePoolsOptions
  readonly #pools = new Map<string, RolePool>()
  readonly #hosts = new Map<number, HostUse>()
  readonly #sessions = new Set<Session>()
  /** Computed once: a caller's requests all have the same target. */
  readonly #ownOf = remembered(({ limits }: SessionTarget): OwnLimits => {
    return (limits && this.#options.own?.(limits)) ?? {}
  })
  readonly #holderOf = remembered((target: SessionTarget): SlotHolder => {
    const { hostId, database, role, account, isAnonymous = false } = target
    const { most } = this.#ownOf(target)
    return {
      role: `${hostId}/${database}/${role}`,
      ...(account !== undefined && { account }),
      isAnonymous,
      ...(most !== undefined && { most }),
    }
  })
  /** A connection is for callers with the same start-up settings. */
  readonly #keyOf = remembered(
    (target: SessionTarget) =>
      `${this.#holderOf(target).role} ${this.#ownOf(target).statementTimeoutMs ?? ''}`,
  )
  readonly #forgotten: ForgottenSessions | undefined
  #closed = false
  #destroyed = 0

  constructor(options: RolePoolsOptions) {
    this.#options = options
    const { backends, hosts } = options
    hosts.onMoved((hostId) => this.#leave(hostId))
    if (backends) this.#forgotten = new ForgottenSessions(this.#sessions, backends.look, backends.end)
  }

  /**
   * Borrows a connection; rejects with a 503 error if none becomes free in time. `onFree` is called when the connection
   * has been released, or its backend has ended.
   */
  async acquire(target: SessionTarget, signal?: AbortLike, onFree?: () => void): Promise<Session> {
    if (this.#closed) throw errors.shuttingDown()
    throwIfAborted(signal)
    this.#options.paused?.refuse(homeOf(target), target.role)
    const giveBack = await this.#takeSlot(target, signal)
    try {
      const session = this.#takeIdle(target) ?? (await this.#open(target))
      return this.#lend(session, giveBack, onFree)
    } catch (error) {
      giveBack()
      throw error
    }
  }

  /** The same without waiting: undefined unless a connection is idle and within the limits. */
  take(target: SessionTarget, signal?: AbortLike): Session | undefined {
    if (this.#closed) throw errors.shuttingDown()
    throwIfAborted(signal)
    this.#options.paused?.refuse(homeOf(target), target.role)
    if (!this.#hasIdle(target)) return undefined
    const giveBack = this.#host(target.hostId).slots.takeNow(this.#holderOf(target))
    return giveBack && this.#lend(this.#takeIdle(target)!, giveBack, undefined)
  }

  /** Runs `work` on a connection and releases it. */
  async use<T>(target: SessionTarget, work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.acquire(target)
    try {
      return await work(session)
    } finally {
      session.release()
    }
  }

  /** Ends every connection of a role, busy or idle, on a host and its replicas. */
  closeRole(hostId: number, role: string): Promise<void> {
    return this.#destroyWhere((target) => homeOf(target) === hostId && target.role === role)
  }

  /** Ends every connection to a database, so that it can be dropped or used as a template. */
  closeDatabase(hostId: number, database: string): Promise<void> {
    return this.#destroyWhere((target) => homeOf(target) === hostId && target.database === database)
  }

  /** The session with this backend. */
  find(hostId: number, processId: number): Session | undefined {
    for (const session of this.#sessions)
      if (session.processId === processId && session.target.hostId === hostId) return session
    return undefined
  }

  stats(): Readonly<{ name: string; open: number; idle: number; waiting: number; destroyed: number }> {
    let idle = 0
    for (const pool of this.#pools.values()) idle += pool.idle.length
    let waiting = 0
    for (const { slots } of this.#hosts.values()) waiting += slots.waiting
    return { name: this.#options.name, open: this.#sessions.size, idle, waiting, destroyed: this.#destroyed }
  }

  /** Refuses new work and ends every connection. */
  async close(): Promise<void> {
    this.#closed = true
    this.#forgotten?.stop()
    for (const { slots } of this.#hosts.values()) slots.refuseAll(errors.shuttingDown())
    await this.#destroyWhere(() => true)
  }

  async #destroyWhere(matches: (target: SessionTarget) => boolean): Promise<void> {
    const chosen = [...this.#sessions].filter((session) => matches(session.target))
    await Promise.all(chosen.map((session) => session.destroy()))
  }

  /** Closes idle connections to a host's former address; busy ones are closed after use. */
  #leave(hostId: number): void {
    const idle = new Set([...this.#pools.values()].flatMap((pool) => pool.idle))
    for (const session of this.#sessions) {
      if (session.target.hostId !== hostId) continue
      if (idle.has(session)) session.destroy()
      else session.isLeftBehind = true
    }
  }

  #takeSlot(target: SessionTarget, signal?: AbortLike): GiveBack | Promise<GiveBack> {
    const { waitMs, accountLimit } = this.#options
    const { slots } = this.#host(target.hostId)
    const holder = this.#holderOf(target)
    const late = () =>
      errors.connectionsExhausted(
        waitMs,
        slots.reachedLimit(holder),
        slots.isAtOwnLimit(holder) ? accountLimit : undefined,
      )
    return slots.take(holder, waitMs, late, signal)
  }

  /** If the session has already ended, its slot is freed at once. */
  #lend(session: Session, giveBack: GiveBack, onFree: (() => void) | undefined): Session {
    session.lastUsed = performance.now()
    const free = () => {
      giveBack()
      onFree?.()
    }
    if (session.isAlive) session.onFree = free
    else free()
    return session
  }

  #free(session: Session): void {
    const free = session.onFree
    session.onFree = null
    free?.()
  }

  #hasIdle(target: SessionTarget): boolean {
    return (this.#pools.get(this.#keyOf(target))?.idle.length ?? 0) > 0
  }

  #takeIdle(target: SessionTarget): Session | undefined {
    const session = this.#pools.get(this.#keyOf(target))?.idle.pop()
    session?.takeFromIdle()
    return session
  }

  /** A caller with a slot always finds room: connections without a slot are idle and can be closed. */
  #makeRoom(hostId: number): void {
    if (this.#host(hostId).open < this.#options.maxPerHost) return
    let oldest: Session | undefined
    for (const pool of this.#pools.values()) {
      const candidate = pool.target.hostId === hostId ? pool.idle[0] : undefined
      if (candidate && (!oldest || candidate.lastUsed < oldest.lastUsed)) oldest = candidate
    }
    oldest?.destroy()
  }

  async #open(target: SessionTarget): Promise<Session> {
    this.#makeRoom(target.hostId)
    const pool = this.#pool(target)
    this.#count(pool, 1)
    try {
      const { hosts } = this.#options
      const host = hosts.get(target.hostId)
      const client = await logIn(this.#logInOptions(target), target)
      const session = new Session(target, client, this.#options.answerMs, {
        onClean: (clean) => this.#takeBack(clean),
        onGone: (gone, isCut) => this.#forget(gone, isCut),
      })
      this.#sessions.add(session)
      session.isLeftBehind = !hosts.isCurrent(host)
      if (this.#closed) await session.destroy()
      return session
    } catch (error) {
      this.#count(pool, -1)
      throw error
    }
  }

  #logInOptions(target: SessionTarget): LogInOptions {
    const { statementTimeoutMs } = this.#ownOf(target)
    if (statementTimeoutMs === undefined && target.replicaOf === undefined) return this.#options
    const settings = {
      ...this.#options.settings,
      ...(statementTimeoutMs !== undefined && { statement_timeout: statementTimeoutMs }),
      // Should the replica be promoted: a write is refused as on a standby, and the primary gets it.
      ...(target.replicaOf !== undefined && { default_transaction_read_only: 'on' }),
    }
    return { ...this.#options, settings }
  }

  #count(pool: RolePool, change: 1 | -1): void {
    pool.open += change
    this.#host(pool.target.hostId).open += change
    if (pool.open === 0) this.#pools.delete(this.#keyOf(pool.target))
  }

  #takeBack(session: Session): void {
    if (this.#closed || session.isLeftBehind) {
      session.destroy()
      return
    }
    this.#pool(session.target).idle.push(session)
    session.waitIdle(this.#options.idleMs)
    this.#free(session)
  }

  #forget(session: Session, isCut: boolean): void {
    if (!this.#sessions.delete(session)) return
    const pool = this.#pool(session.target)
    const place = pool.idle.indexOf(session)
    if (place >= 0) pool.idle.splice(place, 1)
    this.#destroyed += 1
    const end = () => {
      this.#count(pool, -1)
      this.#free(session)
    }
    const { lingering } = this.#options
    if (isCut && lingering) void lingering.gone(session).then(end)
    else end()
  }

  #pool(target: SessionTarget): RolePool {
    const key = this.#keyOf(target)
    const known = this.#pools.get(key)
    if (known) return known
    const pool = { target, open: 0, idle: [] }
    this.#pools.set(key, pool)
    return pool
  }

  #host(hostId: number): HostUse {
    const known = this.#hosts.get(hostId)
    if (known) return known
    const { maxPerHost, maxPerRole, maxPerAccount, maxAnonymousPerAccount } = this.#options
    const slots = new Slots({
      total: maxPerHost,
      perRole: maxPerRole,
      perAccount: maxPerAccount ?? maxPerHost,
      anonymousPerAccount: maxAnonymousPerAccount ?? maxPerHost,
    })
    const host = { open: 0, slots }
    this.#hosts.set(hostId, host)
    return host
  }
}
