import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { ClusterError } from './cluster-error.ts'
import type { PostgresBinaries } from './find-binaries.ts'
import type { ClusterHome } from './home.ts'
import { appendOwned, readOwned, removeTree, renameOwned, writeOwned } from './owned-files.ts'

/** PostgreSQL's programs do not get our environment: it has secrets, and PG* variables would configure them. */
export const emptyEnvironment = { LC_ALL: 'C.UTF-8', TZ: 'UTC' } as const

export const superuser = 'postgres'

const run = promisify(execFile)

/** The major version that created the cluster; undefined if there is none yet. */
export async function clusterVersion(home: ClusterHome): Promise<number | undefined> {
  const text = await readOwned(join(home.dataPath, 'PG_VERSION')).catch(nothingIfMissing)
  return text === undefined ? undefined : Number.parseInt(text, 10)
}

/** Creates an empty cluster with its own superuser password. If it is killed half-way, the next start begins again. */
export async function initialise(
  home: ClusterHome,
  binaries: PostgresBinaries,
  isDurable: boolean,
  signal?: AbortSignal,
): Promise<void> {
  const draft = `${home.dataPath}.new`
  await removeTree(draft)
  await writeOwned(home.passwordPath, home.identity, randomBytes(32).toString('base64url'))
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
    ...(signal && { signal }),
  }).catch((error: { stderr?: string }) => {
    signal?.throwIfAborted()
    throw new ClusterError(`initdb failed in ${home.directory}: ${error.stderr?.trim() || error}`, {
      cause: error,
    })
  })
  await appendOwned(join(draft, 'postgresql.conf'), "\ninclude = 'cartage.conf'\n")
  await renameOwned(draft, basename(home.dataPath))
}

export async function readPassword(home: ClusterHome): Promise<string> {
  return readOwned(home.passwordPath).catch((cause) => {
    throw new ClusterError(`the password of the cluster is not readable: ${home.passwordPath}`, { cause })
  })
}

function nothingIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
