import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import { hostname } from 'node:os'
import { text } from 'node:stream/consumers'
import { ClusterError, ClusterHeld } from './cluster-error.ts'
import type { ClusterHome } from './home.ts'
import { openOwned, readOwned } from './owned-files.ts'

/*
 * The locks of a cluster are kernel locks (flock). They hold across containers and pid namespaces, even while the
 * holder is stopped, and end with the last process that has the file open. The files stay; the
 * pid in service.lock is only for people.
 *
 *   service.lock  exclusive: the one process that watches the server (its keeper)
 *   members.lock  shared: every process that uses the server or is about to; exclusive: the last one, while it stops it
 *   server.lock   exclusive: the server itself and its backends
 */
export type Lock = Readonly<{
  /** For a child process, which then holds the lock too. */
  fd: number
  release: () => Promise<void>
}>

export type LockKind = 'exclusive' | 'shared'

/** Undefined if others still hold it after `waitMs`. */
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
      // The kernel's lock ends with the descriptor.
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

/** Makes this process the only keeper of the server. */
export async function becomeKeeper(home: ClusterHome, waitMs = 0, signal?: AbortSignal): Promise<Lock> {
  const lock = await takeLock(home, home.lockPath, 'exclusive', waitMs, signal)
  if (!lock) throw new ClusterHeld(await describeHolder(home.lockPath))
  await noteHolder(home).catch(() => undefined)
  return lock
}

/** Node cannot lock a file. flock of util-linux locks the file that we have open, and the lock stays after it ends. */
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
    throw new ClusterError('the program flock is missing on this machine (Debian: util-linux)', { cause })
  })
  if (code === 0 || code === heldCode) return code === 0
  throw new ClusterError(`${path} cannot be locked: ${(await words).trim() || `flock ended with ${code}`}`)
}

/** For people: which process holds the lock. */
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
  return `another Cartage process${who} uses this data directory (lock: ${path})`
}

/** An exit code that flock itself does not use. */
const heldCode = 99
