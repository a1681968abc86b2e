import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { unlessAborted } from '../../waiting/unless-aborted.ts'
import { ScramClient } from '../wire/scram-client.ts'
import { ClusterError, ClusterHeld } from './cluster-error.ts'
import { type EmbeddedCluster, type EmbeddedClusterOptions, keepCluster } from './embedded-cluster.ts'
import { type ClusterHome, openHome } from './home.ts'
import { readPassword } from './initialise.ts'
import { noteDataDir } from './installations.ts'
import { becomeKeeper, type Lock, takeLock } from './lock.ts'
import type { Identity } from './owned-files.ts'
import { findPostmaster, readPidFile, stopPostmaster } from './postmaster.ts'
import { urlOf } from './server.ts'

/**
 * Shares the cluster of the data directory among any number of processes: the first starts it, the others join. When
 * its keeper leaves, another process takes over; the last one to leave stops it. A process is a member from before it
 * looks for the server until it has closed its connections.
 */
export async function shareCluster(options: EmbeddedClusterOptions): Promise<SharedCluster> {
  const home = await openHome(options.dataDir, options.log)
  const member = await becomeMember(home, options.signal)
  try {
    return await startOrJoin(home, member, options)
  } catch (error) {
    // The server may be ours and not ready, or others may have joined it.
    if (options.signal?.aborted) await leave(home, member, undefined)
    else await member.release()
    options.signal?.throwIfAborted()
    throw error
  }
}

/** Waits while the last former member stops the server. */
async function becomeMember(home: ClusterHome, signal?: AbortSignal): Promise<Lock> {
  const member = await takeLock(home, home.membersLockPath, 'shared', joinTimeoutMs, signal)
  if (member) return member
  throw new ClusterError(`another Cartage process has not finished stopping PostgreSQL in ${home.directory}`)
}

async function startOrJoin(
  home: ClusterHome,
  member: Lock,
  options: EmbeddedClusterOptions,
): Promise<SharedCluster> {
  const deadline = Date.now() + joinTimeoutMs
  for (;;) {
    try {
      const keeper = await keepCluster(home, options, true)
      // For people only.
      await noteDataDir(home, options.dataDir).catch(() => undefined)
      return new SharedCluster(home, member, options, keeper.url, keeper)
    } catch (error) {
      if (!(error instanceof ClusterHeld) || Date.now() > deadline) throw error
      const url = await answeringUrl(home, options.signal)
      if (url) return new SharedCluster(home, member, options, url, undefined)
      // Its keeper is starting it, or about to end.
      await sleep(joinPauseMs, undefined, options.signal && { signal: options.signal })
    }
  }
}

/** The URL of a server that accepts our login, wherever it runs. */
async function answeringUrl(home: ClusterHome, signal?: AbortSignal): Promise<string | undefined> {
  const recorded = await readPidFile(home)
  if (!recorded) return undefined
  const url = urlOf({ home, password: await readPassword(home) }, recorded)
  const answer = ask(url, 'select').then(
    () => url,
    () => undefined,
  )
  return signal ? unlessAborted(signal, answer) : answer
}

export class SharedCluster {
  readonly url: string
  readonly #home: ClusterHome
  readonly #member: Lock
  readonly #options: EmbeddedClusterOptions
  readonly #stopping = new AbortController()
  readonly #watching: Promise<void>
  #keeper: EmbeddedCluster | undefined

  constructor(
    home: ClusterHome,
    member: Lock,
    options: EmbeddedClusterOptions,
    url: string,
    keeper: EmbeddedCluster | undefined,
  ) {
    const { signal: _, onLaunch: __, ...lasting } = options
    this.#home = home
    this.#member = member
    this.#options = { ...lasting, signal: this.#stopping.signal }
    this.url = url
    this.#keeper = keeper
    this.#watching = this.#succeed()
  }

  /** When root: the cluster's owner. Undefined: this process's user. */
  get owner(): Identity | undefined {
    return this.#home.identity
  }

  /** Call after this process has closed its connections. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#watching
    await leave(this.#home, this.#member, this.#keeper)
  }

  /** Takes over from a keeper that has left or died. */
  async #succeed(): Promise<void> {
    const { signal } = this.#stopping
    while (!this.#keeper) {
      await sleep(successionPauseMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      try {
        this.#keeper = await keepCluster(this.#home, this.#options, true)
      } catch (error) {
        if (signal.aborted || error instanceof ClusterHeld) continue
        this.#options.log.warn({ err: error }, 'cannot become the keeper of PostgreSQL: trying again')
      }
    }
  }
}

/** Stops the server if no other member is left. A process that cannot tell leaves it running. */
async function leave(home: ClusterHome, member: Lock, keeper: EmbeddedCluster | undefined): Promise<void> {
  await member.release()
  // Processes that start now wait until this lock is released.
  const last = await takeLock(home, home.membersLockPath, 'exclusive', 0).catch(() => undefined)
  try {
    // When the first process of a container ends, all others in it end too, the server included.
    const isOver = last !== undefined || process.pid === 1
    if (!isOver) await keeper?.leave()
    else if (keeper) await keeper.stop()
    else await stopAbandoned(home)
  } finally {
    await last?.release()
  }
}

/** Stops a server that runs without a keeper. */
async function stopAbandoned(home: ClusterHome): Promise<void> {
  try {
    const lock = await becomeKeeper(home, leavingMs)
    try {
      const running = await findPostmaster(home)
      if (running) await stopPostmaster(running.pid, 'gently')
    } finally {
      await lock.release()
    }
  } catch (error) {
    if (!(error instanceof ClusterHeld)) throw error
  }
}

async function ask(url: string, question: string): Promise<pg.QueryResult> {
  const client = new ScramClient({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await client.query(question)
  } finally {
    await client.end().catch(() => undefined)
  }
}

const joinTimeoutMs = 60_000
const joinPauseMs = 200
const successionPauseMs = 500
/** How long a leaving keeper may hold its lock. */
const leavingMs = 2_000
