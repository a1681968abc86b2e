import { chmod, lchown, lstat, mkdtemp, realpath, rmdir, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeFolder } from '../../files/make-folder.ts'
import type { Log } from '../../log/log.ts'
import { ClusterError } from './cluster-error.ts'
import type { Identity } from './owned-files.ts'
import { findSocketDirectory } from './socket-directory.ts'
import { canUse, findUser, isRoot, serviceUser } from './system-user.ts'

/** The folder of a cluster, and its owner. */
export type ClusterHome = Readonly<{
  directory: string
  dataPath: string
  passwordPath: string
  portPath: string
  logPath: string
  /** See lock.ts. */
  lockPath: string
  membersLockPath: string
  serverLockPath: string
  /** The folder of the server's socket, accessible only to its user. */
  socketDirectory: string
  /** When root: the owner of the folder and of PostgreSQL's processes. Undefined: this process's user. */
  identity: Identity | undefined
}>

const sharedRoot = '/var/lib/cartage'

/**
 * Finds or creates `<dataDir>/postgres`. PostgreSQL refuses to run as root, so root gives a new folder to the service's
 * system user; if that user cannot reach it, the folder is under /var/lib and `<dataDir>/postgres` links to it.
 */
export async function openHome(dataDir: string, log: Pick<Log, 'info'>): Promise<ClusterHome> {
  const path = join(dataDir, 'postgres')
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  )
  if (!isThere) await makeHome(path, log)
  const directory = await realpath(path).catch((cause) => {
    throw new ClusterError(
      `${path} links to a missing folder; remove the link to start with an empty cluster`,
      { cause },
    )
  })
  const identity = await ownerOf(directory)
  if (identity && !(await canUse(identity, '-w', directory))) {
    throw new ClusterError(
      `${directory} belongs to user ${identity.uid}, who cannot reach it; open the folders above it to that user`,
    )
  }
  return {
    directory,
    dataPath: join(directory, 'data'),
    passwordPath: join(directory, 'password'),
    portPath: join(directory, 'port'),
    logPath: join(directory, 'server.log'),
    lockPath: join(directory, 'service.lock'),
    membersLockPath: join(directory, 'members.lock'),
    serverLockPath: join(directory, 'server.lock'),
    socketDirectory: await findSocketDirectory(directory, identity),
    identity,
  }
}

async function makeHome(path: string, log: Pick<Log, 'info'>): Promise<void> {
  await makeSearchable(dirname(path))
  const made = await makeFolder(path, 0o700)
  // Another process that starts at the same time may have been first.
  if (made === undefined || !isRoot()) return
  const owner = await newOwner()
  await lchown(path, owner.uid, owner.gid)
  await letPass(dirname(path))
  if (await canUse(owner, '-w', path)) return

  await rmdir(path)
  await makeSearchable(sharedRoot)
  const directory = await mkdtemp(join(sharedRoot, `${basename(dirname(path))}-`))
  await lchown(directory, owner.uid, owner.gid)
  await symlink(directory, path)
  log.info(
    { directory, link: path },
    'the user of PostgreSQL cannot reach the data directory: the cluster is in another folder',
  )
}

/** Others may pass through but not list it, whatever the umask; an existing folder is not changed. */
async function makeSearchable(directory: string): Promise<void> {
  const made = await makeFolder(directory)
  if (made !== undefined) await chmod(directory, 0o711)
}

/** The data directory is ours, and only the owner can read its secret files. */
async function letPass(dataDir: string): Promise<void> {
  const { uid, mode } = await stat(dataDir)
  if (uid === 0 && !(mode & 0o001)) await chmod(dataDir, (mode & 0o7777) | 0o001)
}

async function ownerOf(directory: string): Promise<Identity | undefined> {
  const { uid, gid } = await lstat(directory)
  if (!isRoot()) {
    if (uid === process.getuid?.()) return undefined
    throw new ClusterError(
      `${directory} belongs to another user (${uid}); start as that user, or set CARTAGE_DATA_DIR`,
    )
  }
  if (uid !== 0) return { uid, gid }
  // A start that was killed between mkdir and chown left it to root.
  const owner = await newOwner()
  await lchown(directory, owner.uid, owner.gid)
  return owner
}

/** If the service's own user does not exist, use that of PostgreSQL's package. */
const newOwner = () => findUser([serviceUser, 'postgres'])
