import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, chown, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { Log } from '../../log.ts'
import { ClusterError } from './cluster-error.ts'
import type { PostgresBinaries } from './find-binaries.ts'
import { type ClusterHome, openHome } from './home.ts'
import { clusterVersion, emptyEnvironment, superuser, writeOwned } from './initialise.ts'
import { takeLock } from './lock.ts'
import { settingsFile } from './settings.ts'

/**
 * Makes the cluster of a base backup that of an empty data directory: unpacked aside, verified against its manifest,
 * given a password of its own, and only then, after `beforeUse`, put in its place. Cut off, it can be begun anew.
 */
export async function restoreCluster(
  dataDir: string,
  binaries: PostgresBinaries,
  tar: Readable,
  log: Pick<Log, 'info'>,
  beforeUse: () => Promise<void>,
): Promise<void> {
  const home = await openHome(dataDir, log)
  const lock = await takeLock(home.lockPath)
  try {
    if ((await clusterVersion(home)) !== undefined)
      throw new ClusterError(
        `there is an installation in ${dataDir} already: restore into an empty CARTAGE_DATA_DIR`,
      )
    const draft = `${home.dataPath}.restore`
    try {
      await unpack(home, binaries, tar, draft)
      await takeConfiguration(home, draft)
      await setPassword(home, binaries, draft)
      await beforeUse()
      await rename(draft, home.dataPath)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  } finally {
    await lock.release()
  }
}

async function unpack(
  home: ClusterHome,
  binaries: PostgresBinaries,
  tar: Readable,
  draft: string,
): Promise<void> {
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  if (home.identity) await chown(draft, home.identity.uid, home.identity.gid)
  await run(home, 'tar', ['-x', '-C', draft], tar)
  await run(home, join(binaries.directory, 'pg_verifybackup'), ['--quiet', draft])
}

/** The settings of a cluster that was not ours were for another machine, and some of them run programs. */
async function takeConfiguration(home: ClusterHome, draft: string): Promise<void> {
  const isOurs = await access(join(draft, 'cartage.conf')).then(
    () => true,
    () => false,
  )
  await writeOwned(home, join(draft, 'cartage.conf'), settingsFile({}))
  if (isOurs) return
  const logins = ['local', 'host'].flatMap((type) =>
    ['all', 'replication'].map(
      (database) => `${type} ${database} all ${type === 'host' ? '127.0.0.1/32 ' : ''}scram-sha-256\n`,
    ),
  )
  await writeOwned(home, join(draft, 'postgresql.conf'), "include = 'cartage.conf'\n")
  await writeOwned(home, join(draft, 'postgresql.auto.conf'), '')
  await writeOwned(home, join(draft, 'pg_hba.conf'), logins.join(''))
  await writeOwned(home, join(draft, 'pg_ident.conf'), '')
}

/** In single-user mode: nobody can connect before the password is ours. It also replays the WAL of the backup. */
async function setPassword(home: ClusterHome, binaries: PostgresBinaries, draft: string): Promise<void> {
  const password = randomBytes(32).toString('base64url')
  await writeOwned(home, home.passwordPath, password)
  const statements = [
    `create role ${superuser};\n`,
    `alter role ${superuser} superuser login valid until 'infinity' password '${password}';\n`,
  ]
  await run(home, join(binaries.directory, 'postgres'), ['--single', '-D', draft, 'postgres'], statements)
}

async function run(
  home: ClusterHome,
  program: string,
  args: readonly string[],
  input: Readable | readonly string[] = [],
): Promise<void> {
  const child = spawn(program, args, {
    cwd: home.directory,
    env: { ...emptyEnvironment, PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'pipe'],
    ...home.identity,
  })
  const ended = once(child, 'close')
  const words = text(child.stderr)
  const isFed = pipeline(input, child.stdin).then(
    () => true,
    // It ended early and says why itself; or what we read was broken.
    () => false,
  )
  const [code] = await ended
  if (code === 0 && (await isFed)) return
  const last = (await words).trim().split('\n').slice(-3).join('; ')
  throw new ClusterError(
    `the backup is damaged, or cannot be used here: ${last || `${program} got not all of it`}`,
  )
}
