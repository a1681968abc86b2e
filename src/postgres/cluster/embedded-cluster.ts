import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../log/log.ts'
import { ClusterError } from './cluster-error.ts'
import { findBinaries, oldestSupportedMajor, type PostgresBinaries } from './find-binaries.ts'
import { type ClusterHome, openHome } from './home.ts'
import { clusterVersion, initialise, readPassword } from './initialise.ts'
import { becomeKeeper, type Lock } from './lock.ts'
import { writeOwned } from './owned-files.ts'
import { type Postmaster, stopPostmaster } from './postmaster.ts'
import { isAlive } from './processes.ts'
import { adoptServer, launchServer, type ServerSetup, urlOf } from './server.ts'
import { type Settings, settingsFile } from './settings.ts'

export type EmbeddedClusterOptions = Readonly<{
  /** The cluster is in `<dataDir>/postgres`. */
  dataDir: string
  log: Pick<Log, 'info' | 'warn'>
  /** Override ours: any setting of postgresql.conf. */
  settings?: Settings
  /** Also listen on a TCP port, for tests with a proxy; by default only on a socket. */
  isOnTcp?: boolean
  /** At the end, stop at once and remove the files. */
  isEphemeral?: boolean
  /** Called when a server was launched, while it gets ready. */
  onLaunch?: () => void
  /** Cancels a start, and stops what it has started. */
  signal?: AbortSignal
}>

/**
 * Starts the cluster of the data directory; creates it if it is missing. Only one process at a time may be its keeper.
 * A server left running by a killed process is taken over.
 */
export async function startEmbeddedCluster(options: EmbeddedClusterOptions): Promise<EmbeddedCluster> {
  return keepCluster(await openHome(options.dataDir, options.log), options, false)
}

/** The same in an existing home. `isShared`: others may join the server before this returns. */
export async function keepCluster(
  home: ClusterHome,
  options: EmbeddedClusterOptions,
  isShared: boolean,
): Promise<EmbeddedCluster> {
  const { log, isOnTcp = false, onLaunch, settings = {} } = options
  const signal = options.signal ?? new AbortController().signal
  const lock = await becomeKeeper(home, 0, signal)
  try {
    const version = await clusterVersion(home)
    const binaries = await chooseBinaries(version)
    if (version === undefined) await initialise(home, binaries, settings.fsync !== 'off', signal)
    await writeOwned(join(home.dataPath, 'cartage.conf'), home.identity, settingsFile(settings))
    const password = await readPassword(home)
    const server = { home, binaries, password, log, isOnTcp, isShared, signal, onLaunch }
    const postmaster = (await adoptServer(server)) ?? (await launchServer(server))
    return new EmbeddedCluster(
      server,
      lock,
      postmaster,
      options.isEphemeral ? [join(options.dataDir, 'postgres'), home.directory, home.socketDirectory] : [],
    )
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** A running cluster. A server that dies is restarted at the same address. */
export class EmbeddedCluster {
  readonly url: string
  readonly port: number
  readonly #server: ServerSetup
  readonly #lock: Lock
  readonly #remains: readonly string[]
  readonly #watch: NodeJS.Timeout
  readonly #stopping = new AbortController()
  #postmaster: Postmaster
  #revival: Promise<void> | undefined

  constructor(server: ServerSetup, lock: Lock, postmaster: Postmaster, remains: readonly string[]) {
    this.#server = { ...server, isShared: false, signal: this.#stopping.signal }
    this.#lock = lock
    this.#remains = remains
    this.#postmaster = postmaster
    this.port = postmaster.port
    this.url = urlOf(server, postmaster)
    this.#watch = setInterval(() => this.#lookAfterServer(), 250).unref()
  }

  /** The cluster's folder, which may be another than `<dataDir>/postgres`. */
  get directory(): string {
    return this.#server.home.directory
  }

  get pid(): number {
    return this.#postmaster.pid
  }

  /** Releases the data directory but leaves the server running for the next keeper. */
  async leave(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    clearInterval(this.#watch)
    await this.#revival
    await this.#lock.release()
  }

  /** Stops the server and releases the data directory. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    clearInterval(this.#watch)
    await this.#revival
    const isEphemeral = this.#remains.length > 0
    await stopPostmaster(this.pid, isEphemeral ? 'at once' : 'gently')
    await this.#lock.release()
    for (const path of this.#remains) await rm(path, { recursive: true, force: true })
  }

  #lookAfterServer(): void {
    if (this.#revival || isAlive(this.pid)) return
    this.#server.log.warn({ pid: this.pid }, 'PostgreSQL has died: starting it again')
    this.#revival = this.#revive().finally(() => {
      this.#revival = undefined
    })
  }

  async #revive(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        this.#postmaster = await launchServer(this.#server, this.port)
        return
      } catch (error) {
        if (this.#stopping.signal.aborted) return
        this.#server.log.warn({ err: error }, 'PostgreSQL did not start: trying again')
        await sleep(1_000, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
      }
    }
  }
}

/** The programs of this major version; by default the newest. */
export async function chooseBinaries(version: number | undefined): Promise<PostgresBinaries> {
  const found = await findBinaries(version)
  const chosen = found.find(({ major }) => version === undefined || major === version)
  if (chosen) return chosen
  if (version === undefined) {
    throw new ClusterError(
      `no PostgreSQL ${oldestSupportedMajor} or later with PostGIS on this machine; install it (Debian: postgresql-postgis and postgresql-postgis-scripts), or set CARTAGE_DATABASE_URL`,
    )
  }
  const others = found.map(({ major }) => major).join(', ') || 'none'
  throw new ClusterError(
    `this cluster was made by PostgreSQL ${version}: install that version with PostGIS (found: ${others}), or set CARTAGE_DATA_DIR`,
  )
}
