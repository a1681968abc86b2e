import { lchown, lstat, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Identity, readOwned, writeOwned } from './owned-files.ts'

/**
 * The folder of the server's socket: the cluster's own, which only its user can enter. If that path is too long for a
 * socket, a private folder under /tmp, whose name is recorded in `socket-directory` beside the cluster.
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

/** After /tmp was cleaned, another user may have made a folder of the same name. */
async function isPrivate(directory: string, uid: number | undefined): Promise<boolean> {
  return lstat(directory).then(
    (found) => found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0,
    () => false,
  )
}

/** A socket path has at most 108 bytes; this leaves room for PostgreSQL's lock file beside it. */
const longestPath = 100
