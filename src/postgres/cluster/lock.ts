import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import { hostname } from 'node:os'
import { text } from 'node:stream/consumers'
import { ClusterError, ClusterHeld } from './cluster-error.ts'
import type { ClusterHome } from './home.ts'
import { openOwned, readOwned } from './owned-files.ts'

/*
 * The locks of a cluster are the kernel's (flock): they hold across containers and pid namespaces, also while their holder is
 * stopped, and end with the last process that has the file open, however it dies. The files stay; no number in them counts.
 *
 *   service.lock  exclusive: the one process that looks after the server (its keeper)
 *   members.lock  shared: every process that uses the server or is about to; exclusive: the last one, while it stops the server
 *   server.lock   exclusive: the server itself and its backends
 */
export type Lock = Readonly<{
  /** For a child process that holds the lock from now on as well. */
  fd: number
  release: () => Promise<void>
}>

export type LockKind = 'exclusive' | 'shared'

/** Undefined if others have it for as long as we may wait. */
export async function takeLock(
  home: Pick<ClusterHome, 'identity'>,
  path: string,
  kind: LockKind,
  waitMs: number,
  signal?: AbortSignal,
): Promise<Lock | undefined> {
  const file = await openOwned(path, home.identity, 'read and write')
  try {
    if (await isLocked(file, path, kind, waitMs, signal)) {
      // The kernel's lock goes with the descriptor.
      return { fd: file.fd, release: () => file.close() }
    }
  } catch (error) {
    await file.close()
    signal?.throwIfAborted()
    throw error
  }
  await file.close()
  return undefined
}

/** Makes this process the only one that looks after the server. */
export async function becomeKeeper(home: ClusterHome, waitMs = 0, signal?: AbortSignal): Promise<Lock> {
  const lock = await takeLock(home, home.lockPath, 'exclusive', waitMs, signal)
  if (!lock) throw new ClusterHeld(await describeHolder(home.lockPath))
  await noteHolder(home).catch(() => undefined)
  return lock
}

/** Node cannot lock a file. The program of util-linux locks the very file that we have opened, and leaves it locked. */
async function isLocked(
  file: FileHandle,
  path: string,
  kind: LockKind,
  waitMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const patience = waitMs > 0 ? ['--timeout', String(waitMs / 1000)] : ['--nonblock']
  const args = [`--${kind}`, ...patience, '--conflict-exit-code', String(heldCode), '3']
  const child = spawn('flock', args, {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
    stdio: ['ignore', 'ignore', 'pipe', file.fd],
    ...(signal && { signal }),
  })
  const words = text(child.stderr!).catch(() => '')
  const [code] = await once(child, 'close').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause
    throw new ClusterError('there is no program flock on this machine (Debian: util-linux)', { cause })
  })
  if (code === 0 || code === heldCode) return code === 0
  throw new ClusterError(`${path} cannot be locked: ${(await words).trim() || `flock ended with ${code}`}`)
}

/** For people: who has it. */
async function noteHolder(home: ClusterHome): Promise<void> {
  const file = await openOwned(home.lockPath, home.identity, 'read and write')
  try {
    await file.truncate()
    await file.writeFile(JSON.stringify({ pid: process.pid, host: hostname() }))
  } finally {
    await file.close()
  }
}

async function describeHolder(path: string): Promise<string> {
  const holder = await readOwned(path)
    .then((json) => JSON.parse(json) as { pid?: number; host?: string })
    .catch(() => ({ pid: undefined, host: undefined }))
  const place = holder.host === hostname() ? '' : ` on ${holder.host}`
  const who = holder.pid === undefined ? '' : ` (${holder.pid}${place})`
  return `another Cartage process${who} looks after this data directory (lock: ${path})`
}

/** One that flock does not use itself. */
const heldCode = 99
