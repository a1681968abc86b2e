import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../log.ts'
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

/** All it takes to run the server of one cluster. */
export type Server = Readonly<{
  home: ClusterHome
  binaries: PostgresBinaries
  password: string
  log: Pick<Log, 'info' | 'warn'>
  /** On a port as well, for tests that put themselves between. */
  isOnTcp: boolean
  /** Others may have joined it already: a start that is given up leaves it running. */
  isShared: boolean
  signal: AbortSignal
  onLaunch?: (() => void) | undefined
}>

// After a crash the server first replays its log, which takes as long as it takes.
const launchTimeoutMs = 600_000
const adoptTimeoutMs = 30_000

/**
 * Takes over the server that a killed service left running. One that does not let us in is left alone: we cannot know
 * who uses it.
 */
export async function adoptServer(server: Server): Promise<Postmaster | undefined> {
  const { home } = server
  const running = await findPostmaster(home)
  if (!running) return undefined
  const { pid, port } = running
  try {
    if (running.isOnTcp !== server.isOnTcp) throw new Error('it listens elsewhere than it should')
    await closeToTenants(server, running, (await isStarting(home)) ? launchTimeoutMs : adoptTimeoutMs)
  } catch (cause) {
    server.signal.throwIfAborted()
    if (!isAlive(pid)) return undefined
    throw new ClusterError(
      `a PostgreSQL server (process ${pid}) runs on ${home.directory} and does not let us in: ${cause}; end it if it is not needed: kill -INT ${pid}`,
      { cause },
    )
  }
  server.log.info({ pid, port }, 'took over the PostgreSQL server of an earlier start')
  return running
}

/** Starts the server and waits until it answers. Without a given port it takes the one it had, or a free one. */
export async function launchServer(server: Server, givenPort?: number): Promise<Postmaster> {
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
      // Between our look and the server's bind another program may have taken the port.
      if (attempt < 3 && server.isOnTcp && givenPort === undefined && !(await isFree(port))) continue
      const words = await lastWords(home, logStart)
      throw new ClusterError(`PostgreSQL did not start: ${words || error}`, { cause: error })
    }
  }
}

/** As libpq wants it too: the folder of a socket stands, percent-encoded, in place of the host. */
export function urlOf(
  { home, password }: Pick<Server, 'home' | 'password'>,
  { port, isOnTcp }: Omit<Postmaster, 'pid'>,
): string {
  const host = isOnTcp ? '127.0.0.1' : encodeURIComponent(home.socketDirectory)
  return `postgres://${superuser}:${password}@${host}:${port}/postgres?sslmode=disable`
}

/**
 * Waits until the server is ready, and closes what PostgreSQL opens to everybody: its own databases, and its log, which
 * RAISE LOG would let a tenant fill the disk with. What ends a session or the server is still logged.
 */
async function closeToTenants(server: Server, postmaster: Postmaster, timeoutMs: number): Promise<void> {
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

async function logIn(server: Server, postmaster: Postmaster, timeoutMs: number): Promise<ScramClient> {
  const deadline = Date.now() + timeoutMs
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.2, 500)) {
    try {
      if (await isStarting(server.home)) throw new Error('it is still starting')
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

/** Of a socket in a folder that nobody shares it is but a part of the name. */
const socketPort = 5432
