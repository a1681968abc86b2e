import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type FileHandle, lstat } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { basename, join } from 'node:path'
import { ClusterHeld } from './cluster-error.ts'
import type { PostgresBinaries } from './find-binaries.ts'
import type { ClusterHome } from './home.ts'
import { emptyEnvironment } from './initialise.ts'
import { type Lock, takeLock } from './lock.ts'
import { openOwned, readOwned, removeOwned, renameOwned } from './owned-files.ts'
import { hasEnded, isServerProcess, serverProcesses, signal } from './processes.ts'
import { socketPath } from './socket-directory.ts'

/** A server. `isOnTcp`: it listens on its port, not only on the socket named after the port. */
export type Postmaster = Readonly<{ pid: number; port: number; isOnTcp: boolean }>

const largestLogBytes = 16 * 1024 ** 2

/**
 * Starts the server and returns at once, before it accepts connections. The server and its backends hold a kernel lock,
 * so no second server can run on these files, not even in another container.
 */
export async function spawnPostmaster(
  home: ClusterHome,
  binaries: PostgresBinaries,
  port: number,
  isOnTcp: boolean,
): Promise<Postmaster> {
  const lock = await takeLock(home, home.serverLockPath, 'exclusive', lockWaitMs)
  if (!lock) throw new ClusterHeld(runsElsewhere(home))
  try {
    await clearPidFile(home)
    return await spawnWith(lock, home, binaries, port, isOnTcp)
  } finally {
    await lock.release()
  }
}

async function spawnWith(
  lock: Lock,
  home: ClusterHome,
  binaries: PostgresBinaries,
  port: number,
  isOnTcp: boolean,
): Promise<Postmaster> {
  const log = await openLog(home)
  const listen = ['-p', String(port), '-c', `listen_addresses=${isOnTcp ? '127.0.0.1' : ''}`]
  const socket = ['-k', home.socketDirectory, '-c', 'unix_socket_permissions=0700']
  try {
    const child = spawn(join(binaries.directory, 'postgres'), ['-D', home.dataPath, ...listen, ...socket], {
      cwd: home.directory,
      env: emptyEnvironment,
      stdio: ['ignore', log.fd, log.fd, lock.fd],
      // In its own session: Ctrl-C in the terminal reaches only us, and we stop the server at the end.
      detached: true,
      ...home.identity,
    })
    await once(child, 'spawn')
    child.unref()
    return { pid: child.pid as number, port, isOnTcp }
  } finally {
    await log.close()
  }
}

/** The backends of a killed server hold its lock until they notice. */
const lockWaitMs = 5_000

const runsElsewhere = ({ directory }: ClusterHome) =>
  `a PostgreSQL server that is not visible here, perhaps in another container, runs on ${directory}`

/**
 * Removes the pid file of a dead server: PostgreSQL refuses to start if the pid in it now belongs to another program or
 * to a zombie. We hold the server's lock, but a server started without it may still listen.
 */
async function clearPidFile(home: ClusterHome): Promise<void> {
  const recorded = await readPidFile(home)
  if (recorded && (await isListening(home, recorded))) throw new ClusterHeld(runsElsewhere(home))
  // On other systems we cannot see whether backends are left: PostgreSQL decides.
  if (process.platform === 'linux') await removeOwned(join(home.dataPath, 'postmaster.pid'))
}

/** True if anything accepts connections on the server's socket. Every container that has the folder can reach it. */
async function isListening(home: ClusterHome, { port }: Postmaster): Promise<boolean> {
  const probe = connect(socketPath(home.socketDirectory, port))
  try {
    await once(probe, 'connect')
    return true
  } catch (error) {
    return !['ENOENT', 'ECONNREFUSED'].includes((error as NodeJS.ErrnoException).code ?? '')
  } finally {
    probe.destroy()
  }
}

/** The server that already runs on this cluster, for example after its service was killed. */
export async function findPostmaster(home: ClusterHome): Promise<Postmaster | undefined> {
  const recorded = await readPidFile(home)
  return recorded && isServerProcess(recorded.pid, home.dataPath) ? recorded : undefined
}

/** By the status in the server's pid file. Reading it is free; every login costs the server a process. */
export async function isStarting(home: ClusterHome): Promise<boolean> {
  const [, , , , , , , status] = await readPidLines(home)
  return status === undefined || status.trim() === 'starting'
}

/** Ends backends of a killed server that have not noticed its death, as far as they are visible here. */
export async function endRemains(home: ClusterHome): Promise<void> {
  await Promise.all(serverProcesses(home.dataPath).map((pid) => stopPostmaster(pid, 'at once')))
}

/** Stops the server: `gently` cancels statements and writes a checkpoint; otherwise the next start recovers. */
export async function stopPostmaster(pid: number, way: 'gently' | 'at once'): Promise<void> {
  const signals =
    way === 'gently' ? (['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) : (['SIGQUIT', 'SIGKILL'] as const)
  for (const name of signals) {
    signal(pid, name)
    if (await hasEnded(pid, patienceMs[name])) return
  }
}

/** After SIGQUIT the server waits 5 s for its backends, kills the rest, and only then frees its shared memory. */
const patienceMs = { SIGINT: 30_000, SIGQUIT: 15_000, SIGKILL: 5_000 } as const

/** The cluster's last port if it is free, so that its address stays the same; else another one. */
export async function choosePort(home: ClusterHome): Promise<number> {
  const remembered = Number(await readOwned(home.portPath).catch(() => ''))
  if (remembered > 0 && (await isFree(remembered))) return remembered
  for (;;) {
    // Below the kernel's range for outgoing connections.
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if (await isFree(port)) return port
  }
}

export async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)))
  })
}

/** The server's last log lines since the log had this many bytes. */
export async function lastWords(home: ClusterHome, sinceBytes: number): Promise<string> {
  const text = Buffer.from(await readOwned(home.logPath).catch(() => ''))
  // The log may have been rotated at the start.
  const fresh = text.length >= sinceBytes ? text.subarray(sinceBytes) : text
  return fresh.toString('utf8').trim().split('\n').slice(-6).join('\n')
}

export async function logBytes(home: ClusterHome): Promise<number> {
  return lstat(home.logPath).then(
    ({ size }) => size,
    () => 0,
  )
}

async function openLog(home: ClusterHome): Promise<FileHandle> {
  if ((await logBytes(home)) > largestLogBytes) await renameOwned(home.logPath, `${basename(home.logPath)}.1`)
  return openOwned(home.logPath, home.identity, 'append')
}

/** The server according to its pid file; it may be dead, or in another container. */
export async function readPidFile(home: ClusterHome): Promise<Postmaster | undefined> {
  const [pid, , , port, , address = ''] = await readPidLines(home)
  return Number(pid) > 0
    ? { pid: Number(pid), port: Number(port), isOnTcp: address.trim() !== '' }
    : undefined
}

async function readPidLines(home: ClusterHome): Promise<readonly string[]> {
  return readOwned(join(home.dataPath, 'postmaster.pid')).then(
    (text) => text.split('\n'),
    () => [],
  )
}
