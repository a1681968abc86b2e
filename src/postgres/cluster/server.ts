import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../log.ts'
import { sqlstateOf } from '../sqlstate.ts'
import { ScramClient } from '../wire/scram-client.ts'
import { ClusterError } from './cluster-error.ts'
import type { PostgresBinaries } from './find-binaries.ts'
import type { ClusterHome } from './home.ts'
import { superuser, writeOwned } from './initialise.ts'
import {
  choosePort,
  clearRemains,
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
  signal: AbortSignal
  onLaunch?: (() => void) | undefined
}>

// After a crash the server first replays its log, which takes as long as it takes.
const launchTimeoutMs = 600_000
const adoptTimeoutMs = 30_000

/** Takes over the server that a killed service left running, if it lets us in; one that does not is stopped. */
export async function adoptServer(server: Server): Promise<Postmaster | undefined> {
  const running = await findPostmaster(server.home)
  if (!running) return undefined
  try {
    if (running.isOnTcp !== server.isOnTcp) throw new Error('it listens elsewhere than it should')
    await closeToTenants(server, running, adoptTimeoutMs)
    server.log.info(
      { pid: running.pid, port: running.port },
      'took over the PostgreSQL server of an earlier start',
    )
    return running
  } catch (error) {
    server.signal.throwIfAborted()
    server.log.warn({ pid: running.pid, err: error }, 'stopping a PostgreSQL server that does not let us in')
    await stopPostmaster(running.pid, 'gently')
    return undefined
  }
}

/** Starts the server and waits until it answers. Without a given port it takes the one it had, or a free one. */
export async function launchServer(server: Server, givenPort?: number): Promise<Postmaster> {
  const { home } = server
  for (let attempt = 1; ; attempt++) {
    server.signal.throwIfAborted()
    await clearRemains(home)
    const port = givenPort ?? (server.isOnTcp ? await choosePort(home) : socketPort)
    const logStart = await logBytes(home)
    const postmaster = await spawnPostmaster(home, server.binaries, port, server.isOnTcp)
    server.onLaunch?.()
    try {
      await closeToTenants(server, postmaster, launchTimeoutMs)
      if (server.isOnTcp) await writeOwned(home, home.portPath, String(port))
      return postmaster
    } catch (error) {
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
    await client.query(
      `alter role all set log_min_messages to 'fatal';
       revoke connect, temporary on database postgres, template1 from public`,
    )
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function logIn(server: Server, postmaster: Postmaster, timeoutMs: number): Promise<ScramClient> {
  const deadline = Date.now() + timeoutMs
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.2, 500)) {
    try {
      if (await isStarting(server.home)) throw new Error('it is still starting')
      return await connect(urlOf(server, postmaster))
    } catch (refusal) {
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
