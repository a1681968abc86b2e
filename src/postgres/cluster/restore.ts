import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { lchown, lstat, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { keepingReserve, roomOfDisk } from '../../files/disk-room.ts'
import type { Log } from '../../log/log.ts'
import { eachInTime } from '../../waiting/each-in-time.ts'
import { ClusterError } from './cluster-error.ts'
import type { PostgresBinaries } from './find-binaries.ts'
import { type ClusterHome, openHome } from './home.ts'
import { clusterVersion, emptyEnvironment, superuser } from './initialise.ts'
import { becomeKeeper } from './lock.ts'
import { removeTree, renameOwned, writeOwned } from './owned-files.ts'
import { plainTar } from './plain-tar.ts'
import { settingsFile } from './settings.ts'

export type ClusterBackup = Readonly<{
  /** The programs of the PostgreSQL version that made the backup. */
  binaries: PostgresBinaries
  tar: Readable
  log: Pick<Log, 'info' | 'warn'>
  /** Run in one of its databases before any client can connect. The statement is one line. */
  settle?: Readonly<{ database: string; statement: string }>
  beforeUse?: () => Promise<void>
  /** Only read and removed: no setting of the operator holds there, such as one that archives its WAL. */
  isTemporary?: boolean
  /** Ends its programs. */
  signal?: AbortSignal
}>

/**
 * Restores a base backup into an empty data directory: unpacks it in a draft folder, verifies its manifest, sets a new
 * password, calls `beforeUse`, and only then moves it into place. After an interruption it can be repeated.
 */
export async function restoreCluster(
  dataDir: string,
  { binaries, tar, log, settle, beforeUse, isTemporary = false, signal }: ClusterBackup,
): Promise<void> {
  const home = await openHome(dataDir, log)
  const lock = await becomeKeeper(home, 0, signal)
  const work = { home, binaries, draft: `${home.dataPath}.restore`, signal }
  try {
    if ((await clusterVersion(home)) !== undefined)
      throw new ClusterError(
        `there is an installation in ${dataDir} already: restore into an empty CARTAGE_DATA_DIR`,
      )
    const { draft } = work
    try {
      const files = plainTar(eachInTime(tar, longestReadMs, noAnswer, signal))
      await unpack(work, isTemporary ? keepingRoom(files, draft) : files)
      await takeConfiguration(home, draft, isTemporary)
      await setPassword(work)
      if (settle) await runAlone(work, settle.database, [`${settle.statement};\n`])
      await beforeUse?.()
      await renameOwned(draft, basename(home.dataPath))
    } finally {
      await removeTree(draft)
    }
  } finally {
    await lock.release()
  }
}

/** For the next bytes of the backup, which may be on another machine. */
const longestReadMs = 300_000

const noAnswer = () => new ClusterError('the file of the backup did not answer for 5 minutes')

type Work = Readonly<{
  home: ClusterHome
  binaries: PostgresBinaries
  draft: string
  signal: AbortSignal | undefined
}>

async function unpack(work: Work, files: AsyncIterable<Buffer>): Promise<void> {
  const { home, binaries, draft } = work
  await removeTree(draft)
  await mkdir(draft, { mode: 0o700 })
  if (home.identity) await lchown(draft, home.identity.uid, home.identity.gid)
  await run(work, 'tar', ['-x', '-C', draft], files)
  await run(work, join(binaries.directory, 'pg_verifybackup'), ['--quiet', draft])
}

/** The service writes to the same disk meanwhile. */
const keepingRoom = (files: AsyncIterable<Buffer>, folder: string) =>
  keepingReserve(
    files,
    () => roomOfDisk(folder),
    () =>
      new ClusterError(`the disk of ${folder} has too little room for the backup: 1 GiB or 5 % stay free`),
  )

/** A foreign cluster's settings are for another machine, and some of them run programs. */
async function takeConfiguration(home: ClusterHome, draft: string, isTemporary: boolean): Promise<void> {
  const put = (name: string, text: string) => writeOwned(join(draft, name), home.identity, text)
  const isOurs = await lstat(join(draft, 'cartage.conf')).then(
    () => true,
    () => false,
  )
  await put('cartage.conf', settingsFile({}))
  if (isOurs && !isTemporary) return
  const logins = ['local', 'host'].flatMap((type) =>
    ['all', 'replication'].map(
      (database) => `${type} ${database} all ${type === 'host' ? '127.0.0.1/32 ' : ''}scram-sha-256\n`,
    ),
  )
  await put('postgresql.conf', "include = 'cartage.conf'\n")
  await put('postgresql.auto.conf', '')
  await put('pg_hba.conf', logins.join(''))
  await put('pg_ident.conf', '')
}

/** In single-user mode, so that no client can connect before the password is ours. Also replays the WAL of the backup. */
async function setPassword(work: Work): Promise<void> {
  const { home } = work
  const password = randomBytes(32).toString('base64url')
  await writeOwned(home.passwordPath, home.identity, password)
  const statements = [
    `create role ${superuser};\n`,
    `alter role ${superuser} superuser login valid until 'infinity' password '${password}';\n`,
  ]
  await runAlone(work, 'postgres', statements)
}

const runAlone = (work: Work, database: string, statements: readonly string[]) =>
  run(work, join(work.binaries.directory, 'postgres'), ['--single', '-D', work.draft, database], statements)

async function run(
  { home, signal }: Work,
  program: string,
  args: readonly string[],
  input: AsyncIterable<Buffer> | readonly string[] = [],
): Promise<void> {
  signal?.throwIfAborted()
  const child = spawn(program, args, {
    cwd: home.directory,
    env: { ...emptyEnvironment, PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'pipe'],
    ...home.identity,
  })
  const ended = ending(child, signal)
  // Of a program that could not be started nobody reads it.
  const words = text(child.stderr).catch(() => '')
  const trouble = pipeline(input, child.stdin).then(
    () => undefined,
    // The program ended early and says why; or our input was broken.
    (error: unknown) => error,
  )
  const [code] = await ended
  const unfed = await trouble
  signal?.throwIfAborted()
  if (unfed instanceof ClusterError) throw unfed
  if (code === 0 && (!unfed || isRestOfTar(program, unfed))) return
  const last = (await words).trim().split('\n').slice(-3).join('; ')
  throw new ClusterError(
    `the backup is damaged, or cannot be used here: ${last || `${program} did not read all of it`}`,
  )
}

/** tar ends with the archive, and may leave the zeros behind it unread. Whether all files are there is verified next. */
const isRestOfTar = (program: string, error: unknown) =>
  program === 'tar' &&
  ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Waits for the end of a program. When aborted it is asked to end, then made to. */
async function ending(child: ChildProcess, signal: AbortSignal | undefined): Promise<readonly unknown[]> {
  let deadline: NodeJS.Timeout | undefined
  const stop = () => {
    child.kill('SIGTERM')
    deadline = setTimeout(() => child.kill('SIGKILL'), 3_000)
  }
  signal?.addEventListener('abort', stop, { once: true })
  try {
    return await once(child, 'close')
  } finally {
    signal?.removeEventListener('abort', stop)
    clearTimeout(deadline)
  }
}
