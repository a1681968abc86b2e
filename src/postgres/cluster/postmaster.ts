import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { PostgresBinaries } from './find-binaries.ts'
import type { ClusterHome } from './home.ts'
import { emptyEnvironment } from './initialise.ts'
import { hasEnded, isServerProcess, serverProcesses, signal } from './processes.ts'

/** A server; `isOnTcp`: it listens on its port, not only on a socket that is named after it. */
export type Postmaster = Readonly<{ pid: number; port: number; isOnTcp: boolean }>

const largestLogBytes = 16 * 1024 ** 2

/** Starts the server and returns at once; it is not yet ready for connections. */
export async function spawnPostmaster(
  home: ClusterHome,
  binaries: PostgresBinaries,
  port: number,
  isOnTcp: boolean,
): Promise<Postmaster> {
  const log = await openLog(home)
  try {
    const child = spawn(
      join(binaries.directory, 'postgres'),
      [
        '-D',
        home.dataPath,
        '-p',
        String(port),
        '-c',
        `listen_addresses=${isOnTcp ? '127.0.0.1' : ''}`,
        '-k',
        home.socketDirectory,
        '-c',
        'unix_socket_permissions=0700',
      ],
      {
        cwd: home.directory,
        env: emptyEnvironment,
        stdio: ['ignore', log.fd, log.fd],
        // A session of its own: Ctrl-C in the terminal reaches us alone, and we stop the server when we are done with it.
        detached: true,
        ...home.identity,
      },
    )
    await once(child, 'spawn')
    child.unref()
    return { pid: child.pid as number, port, isOnTcp }
  } finally {
    await log.close()
  }
}

/** The server that already runs on this cluster, such as one whose service was killed. */
export async function findPostmaster(home: ClusterHome): Promise<Postmaster | undefined> {
  const recorded = await readPidFile(home)
  return recorded && isServerProcess(recorded.pid, home.dataPath) ? recorded : undefined
}

/** Whether the server says so itself, in its file. To read that costs nothing; every login costs it a process. */
export async function isStarting(home: ClusterHome): Promise<boolean> {
  const [, , , , , , , status] = await readPidLines(home)
  return status === undefined || status.trim() === 'starting'
}

/**
 * Clears what a killed server left: backends that have not noticed its death, then its pid file. PostgreSQL would
 * refuse to start while the id in it belongs to another program by now, or to a zombie that nobody has reaped.
 */
export async function clearRemains(home: ClusterHome): Promise<void> {
  const remains = serverProcesses(home.dataPath)
  await Promise.all(remains.map((pid) => stopPostmaster(pid, 'at once')))
  const areGone = remains.length === 0 || serverProcesses(home.dataPath).length === 0
  // Elsewhere we cannot see whether backends are left, and leave the judgement to PostgreSQL.
  if (process.platform === 'linux' && areGone)
    await rm(join(home.dataPath, 'postmaster.pid'), { force: true })
}

/** Ends the server: `gently` it cancels what runs and writes a checkpoint; otherwise the next start recovers. */
export async function stopPostmaster(pid: number, way: 'gently' | 'at once'): Promise<void> {
  const signals =
    way === 'gently' ? (['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) : (['SIGQUIT', 'SIGKILL'] as const)
  for (const name of signals) {
    signal(pid, name)
    if (await hasEnded(pid, patienceMs[name])) return
  }
}

/** After SIGQUIT it waits 5 s for its backends, kills those that hear nothing, and only then gives back its shared memory. */
const patienceMs = { SIGINT: 30_000, SIGQUIT: 15_000, SIGKILL: 5_000 } as const

/** The port the cluster had last, if it is free, so that its address stays the same; else another one. */
export async function choosePort(home: ClusterHome): Promise<number> {
  const remembered = Number(await readFile(home.portPath, 'utf8').catch(() => ''))
  if (remembered > 0 && (await isFree(remembered))) return remembered
  for (;;) {
    // Below the range from which the kernel takes ports for outgoing connections.
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

/** What the server has said since the log had this many bytes: its last lines. */
export async function lastWords(home: ClusterHome, sinceBytes: number): Promise<string> {
  const text = await readFile(home.logPath).catch(() => Buffer.alloc(0))
  // The log may have been put aside at its start.
  const fresh = text.length >= sinceBytes ? text.subarray(sinceBytes) : text
  return fresh.toString('utf8').trim().split('\n').slice(-6).join('\n')
}

export async function logBytes(home: ClusterHome): Promise<number> {
  return stat(home.logPath).then(
    ({ size }) => size,
    () => 0,
  )
}

async function openLog(home: ClusterHome): Promise<FileHandle> {
  if ((await logBytes(home)) > largestLogBytes) await rename(home.logPath, `${home.logPath}.1`)
  const log = await open(home.logPath, 'a', 0o600)
  if (home.identity) await log.chown(home.identity.uid, home.identity.gid)
  return log
}

async function readPidFile(home: ClusterHome): Promise<Postmaster | undefined> {
  const [pid, , , port, , address = ''] = await readPidLines(home)
  return Number(pid) > 0
    ? { pid: Number(pid), port: Number(port), isOnTcp: address.trim() !== '' }
    : undefined
}

async function readPidLines(home: ClusterHome): Promise<readonly string[]> {
  return readFile(join(home.dataPath, 'postmaster.pid'), 'utf8').then(
    (text) => text.split('\n'),
    () => [],
  )
}
