import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ClusterError } from './cluster-error.ts'

/** A user of the machine, by number. */
export type Identity = Readonly<{ uid: number; gid: number }>

/*
 * The folder of a cluster belongs to PostgreSQL's user, and root may work in it. So no name in it is trusted: neither a
 * file nor its folder may be a symbolic link, only plain files are opened, and a new file gets its content and owner
 * before its name.
 */

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } =
  constants

export async function readOwned(path: string): Promise<string> {
  return inItsFolder(path, async (safe) => {
    const file = await openPlain(safe, path, O_RDONLY)
    try {
      if ((await file.stat()).size > largestBytes) throw new ClusterError(`${path} is too large`)
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  })
}

/** Replaces a file as a whole, readable only by its owner. A file with the same content is not touched. */
export async function writeOwned(
  path: string,
  owner: Identity | undefined,
  text: string,
  mode = 0o600,
): Promise<void> {
  if ((await readOwned(path).catch(() => undefined)) === text) return
  await inItsFolder(path, async (safe) => {
    const draft = `${safe}.${randomBytes(6).toString('hex')}`
    try {
      const file = await open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
      try {
        if (owner) await file.chown(owner.uid, owner.gid)
        await file.writeFile(text)
      } finally {
        await file.close()
      }
      await rename(draft, safe)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  })
}

/** Opens a long-lived file, such as a log or a lock; creates it if it is missing. */
export async function openOwned(
  path: string,
  owner: Identity | undefined,
  way: 'append' | 'read and write',
): Promise<FileHandle> {
  const flags = (way === 'append' ? O_WRONLY | O_APPEND : O_RDWR) | O_CREAT
  return inItsFolder(path, async (safe) => {
    const file = await openPlain(safe, path, flags)
    try {
      if (owner && (await file.stat()).uid !== owner.uid) await file.chown(owner.uid, owner.gid)
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  })
}

export async function appendOwned(path: string, text: string): Promise<void> {
  const file = await openOwned(path, undefined, 'append')
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
}

/** Removes a file, or the link itself. */
export async function removeOwned(path: string): Promise<void> {
  await inItsFolder(path, (safe) => rm(safe, { force: true }))
}

export async function renameOwned(path: string, name: string): Promise<void> {
  await inItsFolder(path, (safe) => rename(safe, join(dirname(safe), name)))
}

/** Removes a folder with its content. rm works on descriptors; Node's rm uses names, which may change meanwhile. */
export async function removeTree(path: string): Promise<void> {
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  )
  if (isThere) await promisify(execFile)('rm', ['-rf', '--', path], { cwd: '/' })
}

/** Calls `work` with a path through the open folder, which stays valid even if the folder's name is replaced. */
async function inItsFolder<T>(path: string, work: (safe: string) => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') return work(path)
  const folder = await open(dirname(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(
    refuseLink(dirname(path)),
  )
  try {
    return await work(join('/proc/self/fd', String(folder.fd), basename(path)))
  } finally {
    await folder.close()
  }
}

async function openPlain(safe: string, path: string, flags: number): Promise<FileHandle> {
  // O_NONBLOCK: do not wait for the other end of a pipe or device.
  const file = await open(safe, flags | O_NOFOLLOW | O_NONBLOCK, 0o600).catch(refuseLink(path))
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new ClusterError(`${path} is not a plain file: remove it`)
}

const refuseLink =
  (path: string) =>
  (error: NodeJS.ErrnoException): never => {
    if (error.code !== 'ELOOP' && error.code !== 'ENOTDIR' && error.code !== 'ENXIO') throw error
    throw new ClusterError(`${path} is a link or not a plain file, and is not opened: remove it`, {
      cause: error,
    })
  }

const largestBytes = 64 * 1024 ** 2
