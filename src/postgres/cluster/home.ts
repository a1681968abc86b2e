import { execFile } from 'node:child_process'
import { chmod, chown, lstat, mkdtemp, realpath, rmdir, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Log } from '../../log.ts'
import { makeFolder } from '../../make-folder.ts'
import { ClusterError } from './cluster-error.ts'
import { findSocketDirectory } from './socket-directory.ts'

/** Whose processes PostgreSQL's are; undefined: our own. */
export type Identity = Readonly<{ uid: number; gid: number }>

/** The folder that holds everything of one cluster, and the user it belongs to. */
export type ClusterHome = Readonly<{
  directory: string
  dataPath: string
  passwordPath: string
  portPath: string
  logPath: string
  lockPath: string
  /** Where the server's socket is: for its user alone. */
  socketDirectory: string
  identity: Identity | undefined
}>

const run = promisify(execFile)
const sharedRoot = '/var/lib/cartage'

/**
 * Finds or makes `<dataDir>/postgres`. PostgreSQL refuses to run as root, so root hands the folder to the user
 * `postgres`; where that user cannot reach it, the folder lies under /var/lib and `<dataDir>/postgres` points there.
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
  if (identity && !(await canWrite(identity, directory))) {
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
    socketDirectory: await findSocketDirectory(directory, identity),
    identity,
  }
}

async function makeHome(path: string, log: Pick<Log, 'info'>): Promise<void> {
  await makeSearchable(dirname(path))
  const made = await makeFolder(path, 0o700)
  // Another process that starts at the same moment may have been first.
  if (made === undefined || !isRoot()) return
  const postgres = await postgresUser()
  await chown(path, postgres.uid, postgres.gid)
  await letPass(dirname(path))
  if (await canWrite(postgres, path)) return

  await rmdir(path)
  await makeSearchable(sharedRoot)
  const directory = await mkdtemp(join(sharedRoot, `${basename(dirname(path))}-`))
  await chown(directory, postgres.uid, postgres.gid)
  await symlink(directory, path)
  log.info(
    { directory, link: path },
    'the user postgres cannot reach the data directory: the cluster lives elsewhere',
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
  const { uid, gid } = await stat(directory)
  if (!isRoot()) {
    if (uid === process.getuid?.()) return undefined
    throw new ClusterError(
      `${directory} belongs to another user (${uid}); start as that user, or set CARTAGE_DATA_DIR`,
    )
  }
  if (uid !== 0) return { uid, gid }
  // A start that was killed between mkdir and chown left it to root.
  const postgres = await postgresUser()
  await chown(directory, postgres.uid, postgres.gid)
  return postgres
}

async function postgresUser(): Promise<Identity> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map((option) => run('id', [option, 'postgres']))).catch(
    (cause) => {
      throw new ClusterError(
        'PostgreSQL cannot run as root and there is no user `postgres` to run it; create one',
        { cause },
      )
    },
  )
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
}

async function canWrite(identity: Identity, directory: string): Promise<boolean> {
  return run('test', ['-w', directory], { ...identity, cwd: '/' }).then(
    () => true,
    () => false,
  )
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}
