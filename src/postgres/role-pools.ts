import pg from 'pg'
import { AppError, errors } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Hosts } from './hosts.ts'
import { Session } from './session.ts'
import { sessionOptions } from './session-options.ts'
import type { SessionTarget } from './session-target.ts'
import { hasSqlstate, isConnectionLoss, sqlstate } from './sqlstate.ts'

export type RolePoolsOptions = Readonly<{
  name: string
  hosts: Hosts
  passwordOf: (target: SessionTarget) => string
  /** Undoes what a tenant did to its own role so that it can log in again. */
  repairLogin?: (target: SessionTarget) => Promise<void>
  /** Start-up settings of every connection, such as statement_timeout. */
  settings: Readonly<Record<string, string | number>>
  maxPerHost: number
  maxPerRole: number
  idleMs: number
  waitMs: number
  log: Log
}>

type Waiter = Readonly<{
  target: SessionTarget
  resolve: (session: Session) => void
  reject: (error: unknown) => void
}>
type RolePool = { target: SessionTarget; open: number; idle: Session[] }
type HostState = { open: number; waiters: Waiter[] }

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
    for (const host of this.#hosts.values()) waiting += host.waiters.length
    return { name: this.#options.name, open: this.#sessions.size, idle, waiting, destroyed: this.#destroyed }
  }

  /** Refuses new work, ends every connection. */
  async close(): Promise<void> {
    this.#closed = true
    for (const host of this.#hosts.values()) {
      for (const waiter of host.waiters.splice(0)) waiter.reject(errors.shuttingDown())
    }
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
    const host = this.#host(target.hostId)
    pool.open += 1
    host.open += 1
    try {
      const client = await this.#logIn(target)
      const session = new Session(target, client, {
        onClean: (clean) => this.#takeBack(clean),
        onGone: (gone) => this.#forget(gone),
      })
      this.#sessions.add(session)
      if (this.#closed) await session.destroy()
      return session
    } catch (error) {
      pool.open -= 1
      host.open -= 1
      this.#serveWaiters(target.hostId)
      throw error
    }
  }

  async #logIn(target: SessionTarget): Promise<pg.Client> {
    try {
      return await this.#connect(target)
    } catch (error) {
      if (!this.#options.repairLogin || isUnavailable(error)) throw loginError(error)
      await this.#options.repairLogin(target)
      return await this.#connect(target).catch((again: unknown) => {
        throw loginError(again)
      })
    }
  }

  async #connect(target: SessionTarget): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.#options.hosts.get(target.hostId).address,
      database: target.database,
      user: target.role,
      password: this.#options.passwordOf(target),
      application_name: `cartage ${this.#options.name}`,
      options: sessionOptions({ ...this.#options.settings, search_path: target.searchPath }),
      connectionTimeoutMillis: this.#options.waitMs,
      keepAlive: true,
    })
    // Without a listener a lost idle connection would end the process.
    client.on('error', (error) => this.#options.log.debug({ err: error }, 'connection lost'))
    try {
      await client.connect()
      return client
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
  }

  #wait(target: SessionTarget, signal?: AbortSignal): Promise<Session> {
    const { waiters } = this.#host(target.hostId)
    return new Promise((resolve, reject) => {
      const leave = (error: unknown) => {
        const place = waiters.indexOf(waiter)
        if (place >= 0) waiters.splice(place, 1)
        settle()
        reject(error)
      }
      const settle = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const onAbort = () => leave(signal?.reason)
      const waiter: Waiter = {
        target,
        resolve: (session) => {
          settle()
          resolve(session)
        },
        reject: (error) => {
          settle()
          reject(error)
        },
      }
      const timer = setTimeout(
        () => leave(errors.connectionsExhausted(this.#options.waitMs)),
        this.#options.waitMs,
      )
      signal?.addEventListener('abort', onAbort, { once: true })
      waiters.push(waiter)
    })
  }

  /** First come, first served, except that a waiter whose role is at its own limit does not hold up the others. */
  #serveWaiters(hostId: number): void {
    const { waiters } = this.#host(hostId)
    for (let place = 0; place < waiters.length; ) {
      const waiter = waiters[place]!
      const idle = this.#takeIdle(waiter.target)
      if (!idle && !this.#mayOpen(waiter.target)) {
        place += 1
        continue
      }
      waiters.splice(place, 1)
      if (idle) waiter.resolve(idle)
      else this.#open(waiter.target).then(waiter.resolve, waiter.reject)
    }
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
    pool.open -= 1
    if (pool.open === 0) this.#pools.delete(keyOf(session.target))
    this.#host(session.target.hostId).open -= 1
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
    const host = { open: 0, waiters: [] }
    this.#hosts.set(hostId, host)
    return host
  }
}

const keyOf = (target: SessionTarget) => `${target.hostId}/${target.database}/${target.role}`

function isUnavailable(error: unknown): boolean {
  return (
    error instanceof AppError ||
    isConnectionLoss(error) ||
    hasSqlstate(error, sqlstate.tooManyConnections, sqlstate.cannotConnectNow, sqlstate.invalidCatalogName)
  )
}

function loginError(error: unknown): unknown {
  if (error instanceof AppError) return error
  return errors.databaseUnavailable(error)
}
