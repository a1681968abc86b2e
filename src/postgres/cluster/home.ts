import { chmod, lchown, lstat, mkdtemp, realpath, rmdir, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Log } from '../../log.ts'
import { makeFolder } from '../../make-folder.ts'
import { ClusterError } from './cluster-error.ts'
import type { Identity } from './owned-files.ts'
import { findSocketDirectory } from './socket-directory.ts'
import { canUse, findUser, isRoot, serviceUser } from './system-user.ts'

/** The folder that holds everything of one cluster, and the user it belongs to. */
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
  /** Where the server's socket is: for its user alone. */
  socketDirectory: string
  /** Whose the folder is and whose processes PostgreSQL's are, for root; undefined: our own. */
  identity: Identity | undefined
}>

const sharedRoot = '/var/lib/cartage'

/**
 * Finds or makes `<dataDir>/postgres`. PostgreSQL refuses to run as root, so root hands a new folder to the system user of
 * the service; where that user cannot reach it, the folder lies under /var/lib and `<dataDir>/postgres` points there.
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
      `${path} points to a folder that is gone; remove the link to start with an empty cluster`,
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
  // Another process that starts at the same moment may have been first.
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
    'the user of PostgreSQL cannot reach the data directory: the cluster lives elsewhere',
  )
}

/** Others may pass through but not look around, whatever the umask; a folder that exists stays as it is. */
async function makeSearchable(directory: string): Promise<void> {
  const made = await makeFolder(directory)
  if (made !== undefined) await chmod(directory, 0o711)
}

/** The data directory is ours, and what is secret in it is a file that only its owner may read. */
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

/** Where the service's own user could not be made, that of PostgreSQL's package. */
const newOwner = () => findUser([serviceUser, 'postgres'])
