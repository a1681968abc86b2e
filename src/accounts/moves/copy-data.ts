import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account } from '../../auth/account.ts'
import type { Installation } from '../../hosts/installation.ts'
import { chooseEntries } from '../../postgres/dump/contents.ts'
import type { DumpPrograms } from '../../postgres/dump/find-programs.ts'
import { loginEnvironment } from '../../postgres/dump/programs-login.ts'
import { type Program, pipePrograms, runProgram } from '../../postgres/dump/run-program.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import type { Way } from './move.ts'
import { moverOf } from './mover.ts'

export type Copying = Readonly<{
  account: Account
  move: Way
  programs: DumpPrograms
  roles: readonly string[]
  signal: AbortSignal
  onBytes: (count: number) => void
}>

/**
 * Copies what the user owns into the empty database on the other host, all of it as the master role's. Definitions go
 * through a small file, so that they can be chosen; rows go from program to program. Code of the tenant that runs
 * meanwhile, such as that of a constraint, has only the rights of the tenant. Access lists and other owners come later.
 * Returns the oids of the materialized views to fill.
 */
export async function copyData(installation: Installation, copying: Copying): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-move-'))
  try {
    return await copyThrough(folder, installation, copying)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function copyThrough(folder: string, installation: Installation, copying: Copying) {
  const { account, move, programs, roles, signal } = copying
  const { secrets, databases } = installation
  const { database, masterRole } = account
  const mover = moverOf(masterRole)
  const login = (hostId: number, role: string) =>
    loginEnvironment(
      { host: databases.hosts.get(hostId), database, role, password: secrets.rolePassword(role) },
      folder,
    )
  const [there, here] = [await login(move.fromHostId, mover), await login(move.toHostId, masterRole)]
  const dump = (args: readonly string[]): Program => ({
    path: programs.dump,
    args: [...dumpArguments, ...args],
    env: there,
    signal,
  })
  const restore = (args: readonly string[]): Program => ({
    path: programs.restore,
    args: [...restoreArguments, `--dbname=${database}`, ...args],
    env: here,
    signal,
  })
  const archive = join(folder, 'definitions')
  const list = join(folder, 'list')
  await runProgram(dump(['--section=pre-data', '--section=post-data', `--file=${archive}`]))
  const listed = await runProgram({ path: programs.restore, args: ['--list', archive], env: here, signal })
  const extensions = await extensionsOf(installation, account, roles)
  const chosen = chooseEntries(listed, new Set(roles), extensions)
  await writeFile(list, chosen.list)
  const definitions = (section: string) => restore([`--section=${section}`, `--use-list=${list}`, archive])
  await runProgram(definitions('pre-data'))
  await pipePrograms(dump(['--section=data']), restore(['--section=data']), copying.onBytes)
  const post = definitions('post-data')
  await runProgram({ ...post, args: ['--jobs=2', ...post.args] })
  return chosen.filled
}

/** Schemas of the service are made with the database. Without compression: the archive is read at once. */
const dumpArguments = [
  '--format=custom',
  '--compress=0',
  '--no-password',
  '--lock-wait-timeout=60000',
  ...['cartage', 'cartodb', 'postgis'].map((schema) => `--exclude-schema=${schema}`),
  '--exclude-table-data=postgis.spatial_ref_sys',
  '--no-security-labels',
  '--no-subscriptions',
]
const restoreArguments = ['--no-owner', '--no-privileges', '--exit-on-error', '--no-password']

async function extensionsOf(
  { databases: { admin, hosts } }: Installation,
  { hostId, database }: Account,
  roles: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await admin.use(adminTarget(hosts, hostId, database), (session) =>
    session.query<{ oid: string }>(
      `select e.oid::text as oid from pg_catalog.pg_extension e
       join pg_catalog.pg_roles r on r.oid = e.extowner where r.rolname = any ($1)`,
      [roles],
    ),
  )
  return new Set(rows.map(({ oid }) => oid))
}
