import { errors } from '../errors.ts'
import { type LogInOptions, logIn } from './log-in.ts'
import { Session } from './session.ts'
import type { SessionTarget } from './session-target.ts'
import { WaitingLine } from './waiting-line.ts'

export type RolePoolsOptions = LogInOptions &
  Readonly<{
    maxPerHost: number
    maxPerRole: number
    /** An idle connection is closed after this time. */
    idleMs: number
    /** The longest silence before an answer to a statement of our own. */
    answerMs: number
  }>

type RolePool = { target: SessionTarget; open: number; idle: Session[] }
type HostState = { open: number; line: WaitingLine<SessionTarget, Session> }

/**
 * Connections per role, under one cap per host. A connection comes back only clean, and is destroyed on any doubt;
 * when the cap is reached the longest idle connection of another role makes room, then callers wait in line.
 * (pg.Pool knows neither a shared cap nor cleaning, hence our own.)
 */
export class RolePools {
  readonly #options: RolePoolsOptions
  readonly #pools = new Map<string, RolePool>()
  readonly #hosts = new Map<number, HostState>()
  readonly #sessions = new Set<Session>()
  #closed = false
  #destroyed = 0

  constructor(options: RolePoolsOptions) {
    this.#options = options
  }

  /** A connection for the caller alone; rejects with a 503 error when none becomes free in time. */
  async acquire(target: SessionTarget, signal?: AbortSignal): Promise<Session> {
    if (this.#closed) throw errors.shuttingDown()
    signal?.throwIfAborted()
    const session =
      this.#takeIdle(target) ??
      (await (this.#mayOpen(target) ? this.#open(target) : this.#wait(target, signal)))
    session.lastUsed = Date.now()
    return session
  }

  /** Runs `work` on a connection that is given back afterwards, or dropped if the connection itself failed. */
  async use<T>(target: SessionTarget, work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.acquire(target)
    try {
      return await work(session)
    } finally {
      session.release()
    }
  }

  /** Ends every connection of a role, busy or idle. */
  closeRole(hostId: number, role: string): Promise<void> {
    return this.#destroyWhere((target) => target.hostId === hostId && target.role === role)
  }

  /** Ends every connection to a database, so that it can be dropped or serve as a template. */
  closeDatabase(hostId: number, database: string): Promise<void> {
    return this.#destroyWhere((target) => target.hostId === hostId && target.database === database)
  }

  stats(): Readonly<{ name: string; open: number; idle: number; waiting: number; destroyed: number }> {
    let idle = 0
    for (const pool of this.#pools.values()) idle += pool.idle.length
    let waiting = 0
    for (const host of this.#hosts.values()) waiting += host.line.length
    return { name: this.#options.name, open: this.#sessions.size, idle, waiting, destroyed: this.#destroyed }
  }

  /** Refuses new work, ends every connection. */
  async close(): Promise<void> {
    this.#closed = true
    for (const { line } of this.#hosts.values()) line.refuseAll(errors.shuttingDown())
    await this.#destroyWhere(() => true)
  }

  async #destroyWhere(matches: (target: SessionTarget) => boolean): Promise<void> {
    const chosen = [...this.#sessions].filter((session) => matches(session.target))
    await Promise.all(chosen.map((session) => session.destroy()))
  }

  #takeIdle(target: SessionTarget): Session | undefined {
    const session = this.#pools.get(keyOf(target))?.idle.pop()
    session?.takeFromIdle()
    return session
  }

  #mayOpen(target: SessionTarget): boolean {
    if (this.#pool(target).open >= this.#options.maxPerRole) return false
    return this.#host(target.hostId).open < this.#options.maxPerHost || this.#evictLongestIdle(target.hostId)
  }

  #evictLongestIdle(hostId: number): boolean {
    let oldest: Session | undefined
    for (const pool of this.#pools.values()) {
      const candidate = pool.target.hostId === hostId ? pool.idle[0] : undefined
      if (candidate && (!oldest || candidate.lastUsed < oldest.lastUsed)) oldest = candidate
    }
    oldest?.destroy()
    return oldest !== undefined
  }

  async #open(target: SessionTarget): Promise<Session> {
    const pool = this.#pool(target)
    this.#count(pool, 1)
    try {
      const client = await logIn(this.#options, target)
      const session = new Session(target, client, this.#options.answerMs, {
        onClean: (clean) => this.#takeBack(clean),
        onGone: (gone) => this.#forget(gone),
      })
      this.#sessions.add(session)
      if (this.#closed) await session.destroy()
      return session
    } catch (error) {
      this.#count(pool, -1)
      this.#serveWaiters(target.hostId)
      throw error
    }
  }

  #count(pool: RolePool, change: 1 | -1): void {
    pool.open += change
    this.#host(pool.target.hostId).open += change
    if (pool.open === 0) this.#pools.delete(keyOf(pool.target))
  }

  #wait(target: SessionTarget, signal?: AbortSignal): Promise<Session> {
    const { waitMs } = this.#options
    return this.#host(target.hostId).line.join(
      target,
      waitMs,
      () => errors.connectionsExhausted(waitMs),
      signal,
    )
  }

  /** A waiter whose role is at its own limit does not hold up the others. */
  #serveWaiters(hostId: number): void {
    this.#host(hostId).line.serve((target) => {
      const idle = this.#takeIdle(target)
      if (idle) return Promise.resolve(idle)
      return this.#mayOpen(target) ? this.#open(target) : undefined
    })
  }

  #takeBack(session: Session): void {
    if (this.#closed) {
      session.destroy()
      return
    }
    this.#pool(session.target).idle.push(session)
    session.waitIdle(this.#options.idleMs)
    this.#serveWaiters(session.target.hostId)
  }

  #forget(session: Session): void {
    if (!this.#sessions.delete(session)) return
    const pool = this.#pool(session.target)
    const place = pool.idle.indexOf(session)
    if (place >= 0) pool.idle.splice(place, 1)
    this.#count(pool, -1)
    this.#destroyed += 1
    // Later, so that whoever made room by evicting gets it.
    setImmediate(() => this.#serveWaiters(session.target.hostId))
  }

  #pool(target: SessionTarget): RolePool {
    const key = keyOf(target)
    const known = this.#pools.get(key)
    if (known) return known
    const pool = { target, open: 0, idle: [] }
    this.#pools.set(key, pool)
    return pool
  }

  #host(hostId: number): HostState {
    const known = this.#hosts.get(hostId)
    if (known) return known
    const host = { open: 0, line: new WaitingLine<SessionTarget, Session>() }
    this.#hosts.set(hostId, host)
    return host
  }
}

const keyOf = (target: SessionTarget) => `${target.hostId}/${target.database}/${target.role}`
