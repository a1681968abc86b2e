import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFile, chown, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ClusterError } from './cluster-error.ts'
import type { PostgresBinaries } from './find-binaries.ts'
import type { ClusterHome } from './home.ts'

/** PostgreSQL's programs see nothing of our environment: it holds secrets, and PG* variables would steer them. */
export const emptyEnvironment = { LC_ALL: 'C.UTF-8', TZ: 'UTC' } as const

export const superuser = 'postgres'

const run = promisify(execFile)

/** The major version that made the cluster; undefined if there is none yet. */
export async function clusterVersion(home: ClusterHome): Promise<number | undefined> {
  const text = await readFile(join(home.dataPath, 'PG_VERSION'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Number.parseInt(text, 10)
}

/** Makes an empty cluster with a superuser password of its own. Killed half-way, the next start begins anew. */
export async function initialise(
  home: ClusterHome,
  binaries: PostgresBinaries,
  isDurable: boolean,
): Promise<void> {
  const draft = `${home.dataPath}.new`
  await rm(draft, { recursive: true, force: true })
  await writeOwned(home, home.passwordPath, randomBytes(32).toString('base64url'))
  const options = [
    `--pgdata=${draft}`,
    `--username=${superuser}`,
    `--pwfile=${home.passwordPath}`,
    '--auth-host=scram-sha-256',
    '--auth-local=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
    ...(isDurable ? [] : ['--no-sync']),
  ]
  await run(join(binaries.directory, 'initdb'), options, {
    cwd: home.directory,
    env: emptyEnvironment,
    ...home.identity,
  }).catch((error: { stderr?: string }) => {
    throw new ClusterError(`initdb failed in ${home.directory}: ${error.stderr?.trim() || error}`, {
      cause: error,
    })
  })
  await appendFile(join(draft, 'postgresql.conf'), "\ninclude = 'cartage.conf'\n")
  await rename(draft, home.dataPath)
}

export async function readPassword(home: ClusterHome): Promise<string> {
  return readFile(home.passwordPath, 'utf8').catch((cause) => {
    throw new ClusterError(`the password of the cluster is not readable: ${home.passwordPath}`, { cause })
  })
}

/** Writes a file for the eyes of the cluster's user alone. */
export async function writeOwned(home: ClusterHome, path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600 })
  if (home.identity && (await stat(path)).uid !== home.identity.uid) {
    await chown(path, home.identity.uid, home.identity.gid)
  }
}
