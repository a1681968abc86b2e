import { lchown, lstat, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Identity, readOwned, writeOwned } from './owned-files.ts'

/**
 * The folder of the server's socket: that of the cluster, which nobody but its user can enter. Where that name is too
 * long for a socket, a private folder under /tmp, whose name is kept in `socket-directory` beside the cluster.
 */
export async function findSocketDirectory(home: string, identity: Identity | undefined): Promise<string> {
  if (socketPath(home, 5432).length <= longestPath) return home
  const record = join(home, 'socket-directory')
  const known = await readOwned(record).catch(() => '')
  if (known && (await isPrivate(known, identity?.uid ?? process.getuid?.()))) return known
  const fresh = await mkdtemp(join(tmpdir(), 'cartage-'))
  if (identity) await lchown(fresh, identity.uid, identity.gid)
  await writeOwned(record, identity, fresh)
  return fresh
}

export const socketPath = (directory: string, port: number) => join(directory, `.s.PGSQL.${port}`)

/** Whoever cleans /tmp makes room for a folder of somebody else's under the same name. */
async function isPrivate(directory: string, uid: number | undefined): Promise<boolean> {
  return lstat(directory).then(
    (found) => found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0,
    () => false,
  )
}

/** Of the 108 bytes of a socket's name, with room for the lock file that PostgreSQL puts beside it. */
const longestPath = 100
