import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../log/log.ts'
import { unlessAborted } from '../../waiting/unless-aborted.ts'
import { sqlstateOf } from '../sqlstate.ts'
import { ScramClient } from '../wire/scram-client.ts'
import { ClusterError } from './cluster-error.ts'
import type { PostgresBinaries } from './find-binaries.ts'
import type { ClusterHome } from './home.ts'
import { superuser } from './initialise.ts'
import { writeOwned } from './owned-files.ts'
import {
  choosePort,
  endRemains,
  findPostmaster,
  isFree,
  isStarting,
  lastWords,
  logBytes,
  type Postmaster,
  spawnPostmaster,
  stopPostmaster,
} from './postmaster.ts'
import { isAlive } from './processes.ts'

/** What is needed to run the server of a cluster. */
export type ServerSetup = Readonly<{
  home: ClusterHome
  binaries: PostgresBinaries
  password: string
  log: Pick<Log, 'info' | 'warn'>
  /** Also on a TCP port, for tests with a proxy. */
  isOnTcp: boolean
  /** Others may have joined it: cancelling the start leaves it running. */
  isShared: boolean
  signal: AbortSignal
  onLaunch?: (() => void) | undefined
}>

// After a crash the server first replays its WAL, which may take long.
const launchTimeoutMs = 600_000
const adoptTimeoutMs = 30_000

/**
 * Takes over the server that a killed service left running. A server that refuses our login is left alone: others may
 * use it.
 */
export async function adoptServer(server: ServerSetup): Promise<Postmaster | undefined> {
  const { home } = server
  const running = await findPostmaster(home)
  if (!running) return undefined
  const { pid, port } = running
  try {
    if (running.isOnTcp !== server.isOnTcp) throw new Error('it listens on another address')
    await closeToTenants(server, running, (await isStarting(home)) ? launchTimeoutMs : adoptTimeoutMs)
  } catch (cause) {
    server.signal.throwIfAborted()
    if (!isAlive(pid)) return undefined
    throw new ClusterError(
      `a PostgreSQL server (process ${pid}) runs on ${home.directory} and refuses our login: ${cause}; if it is not needed, end it: kill -INT ${pid}`,
      { cause },
    )
  }
  server.log.info({ pid, port }, 'took over the PostgreSQL server of an earlier start')
  return running
}

/** Starts the server and waits until it answers. By default on its last port, or a free one. */
export async function launchServer(server: ServerSetup, givenPort?: number): Promise<Postmaster> {
  const { home } = server
  for (let attempt = 1; ; attempt++) {
    server.signal.throwIfAborted()
    await endRemains(home)
    const port = givenPort ?? (server.isOnTcp ? await choosePort(home) : socketPort)
    const logStart = await logBytes(home)
    const postmaster = await spawnPostmaster(home, server.binaries, port, server.isOnTcp)
    server.onLaunch?.()
    try {
      await closeToTenants(server, postmaster, launchTimeoutMs)
      if (server.isOnTcp) await writeOwned(home.portPath, home.identity, String(port))
      return postmaster
    } catch (error) {
      if (server.isShared) server.signal.throwIfAborted()
      await stopPostmaster(postmaster.pid, 'gently')
      server.signal.throwIfAborted()
      // Another program may have taken the port between our check and the server's bind.
      if (attempt < 3 && server.isOnTcp && givenPort === undefined && !(await isFree(port))) continue
      const words = await lastWords(home, logStart)
      throw new ClusterError(`PostgreSQL did not start: ${words || error}`, { cause: error })
    }
  }
}

/** In libpq's format: the socket folder, percent-encoded, in place of the host. */
export function urlOf(
  { home, password }: Pick<ServerSetup, 'home' | 'password'>,
  { port, isOnTcp }: Omit<Postmaster, 'pid'>,
): string {
  const host = isOnTcp ? '127.0.0.1' : encodeURIComponent(home.socketDirectory)
  return `postgres://${superuser}:${password}@${host}:${port}/postgres?sslmode=disable`
}

/**
 * Waits until the server is ready, and closes what PostgreSQL opens to all roles: its own databases, and its log, with
 * which a tenant could fill the disk by RAISE LOG. FATAL and PANIC messages are still logged.
 */
async function closeToTenants(server: ServerSetup, postmaster: Postmaster, timeoutMs: number): Promise<void> {
  const client = await logIn(server, postmaster, timeoutMs)
  try {
    await unlessAborted(
      server.signal,
      client.query(
        `alter role all set log_min_messages to 'fatal';
         revoke connect, temporary on database postgres, template1 from public`,
      ),
    )
  } finally {
    await unlessAborted(server.signal, client.end()).catch(() => undefined)
  }
}

async function logIn(server: ServerSetup, postmaster: Postmaster, timeoutMs: number): Promise<ScramClient> {
  const deadline = Date.now() + timeoutMs
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.2, 500)) {
    try {
      if (await isStarting(server.home)) throw new Error('the server is still starting')
      return await unlessAborted(server.signal, connect(urlOf(server, postmaster)))
    } catch (refusal) {
      server.signal.throwIfAborted()
      if (!isAlive(postmaster.pid) || Date.now() > deadline || sqlstateOf(refusal)?.startsWith('28'))
        throw refusal
    }
    await sleep(pauseMs, undefined, { signal: server.signal })
  }
}

async function connect(connectionString: string): Promise<ScramClient> {
  const client = new ScramClient({ connectionString, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  await client.connect().catch((error: unknown) => {
    void client.end().catch(() => undefined)
    throw error
  })
  return client
}

/** Only names the socket file; any number works. */
const socketPort = 5432
