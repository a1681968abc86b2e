import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Installation } from '../../hosts/installation.ts'
import { type Chosen, chooseEntries, type DumpPart } from '../../postgres/dump/contents.ts'
import type { DumpPrograms } from '../../postgres/dump/find-programs.ts'
import { loginEnvironment } from '../../postgres/dump/programs-login.ts'
import { type PostgresProgram, pipePrograms, runProgram } from '../../postgres/dump/run-program.ts'
import { inWorkFolder } from '../../postgres/dump/work-folder.ts'
import type { Session } from '../../postgres/session.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { alignAcross, type Privilege } from './access-lists.ts'
import type { Household } from './household.ts'
import type { Way } from './move.ts'
import { moverOf } from './mover.ts'
import { readOwners, tablesOf } from './owners.ts'

export type Copying = Readonly<{
  household: Household
  move: Way
  programs: DumpPrograms
  roles: readonly string[]
  /** The privileges on the old host. */
  privileges: readonly Privilege[]
  signal: AbortSignal
  onBytes: (count: number) => void
}>

/**
 * Copies what the members own into the empty database on the other host, all of it as their master roles'. Definitions
 * go through a small file, so that they can be chosen; rows go from program to program. Each member's part is restored
 * as this member: its code that runs meanwhile, such as that of a constraint, has only the rights of the member. Access
 * lists and other owners come later. Returns the oids of the materialized views to fill.
 */
export async function copyData(installation: Installation, copying: Copying): Promise<readonly string[]> {
  return inWorkFolder((folder) => new Copier(installation, copying, folder).copy())
}

class Copier {
  readonly #installation: Installation
  readonly #copying: Copying
  readonly #folder: string

  constructor(installation: Installation, copying: Copying, folder: string) {
    this.#installation = installation
    this.#copying = copying
    this.#folder = folder
  }

  async copy(): Promise<readonly string[]> {
    const archive = join(this.#folder, 'definitions')
    await runProgram(await this.#dump(['--section=pre-data', '--section=post-data', `--file=${archive}`]))
    const before = await this.#choose(archive, 'pre-data')
    const after = await this.#choose(archive, 'post-data')
    await this.#alignAcross()
    for (const part of before.parts) {
      await this.#restorePart(archive, part, [])
      if (part.hasRoutines) await this.#alignAcross()
    }
    await this.#alignAcross()
    await this.#copyRows()
    for (const part of after.parts) await this.#restorePart(archive, part, ['--jobs=2'])
    return after.filled
  }

  async #choose(archive: string, section: string): Promise<Chosen> {
    const { household, roles } = this.#copying
    const program = await this.#restore(household.members[0]!.masterRole, [])
    const listed = await runProgram({ ...program, args: ['--list', `--section=${section}`, archive] })
    const owners = await this.#on('fromHostId', (session) => readOwners(session, household, roles))
    return chooseEntries(listed, owners)
  }

  async #restorePart(archive: string, { owner, list }: DumpPart, options: readonly string[]): Promise<void> {
    const file = join(this.#folder, 'list')
    await writeFile(file, list)
    await runProgram(await this.#restore(owner, [...options, `--use-list=${file}`, archive]))
  }

  /** The rows of a user all at once; those of members by their tables, as each loads its own. */
  async #copyRows(): Promise<void> {
    const { household, onBytes } = this.#copying
    for (const { organization, masterRole } of household.members) {
      const groups = organization
        ? await this.#on('fromHostId', (session) => tablesOf(session, masterRole, tablesAtOnce))
        : [[]]
      for (const tables of groups)
        await pipePrograms(
          await this.#dump(['--section=data', ...tables.map((name) => `--table=${name}`)]),
          await this.#restore(masterRole, ['--section=data']),
          onBytes,
        )
    }
  }

  /** Among members: what one may do with the others' objects while code of theirs can run. */
  async #alignAcross(): Promise<void> {
    const { household, privileges, roles, signal } = this.#copying
    signal.throwIfAborted()
    if (household.members.length > 1)
      await this.#on('toHostId', (session) => alignAcross(session, roles, privileges))
  }

  async #dump(args: readonly string[]): Promise<PostgresProgram> {
    const { household, move, programs, signal } = this.#copying
    const env = await this.#login(move.fromHostId, moverOf(household.database))
    return { path: programs.dump, args: [...dumpArguments, ...args], env, signal }
  }

  async #restore(role: string, args: readonly string[]): Promise<PostgresProgram> {
    const { household, move, programs, signal } = this.#copying
    const env = await this.#login(move.toHostId, role)
    const all = [...restoreArguments, `--dbname=${household.database}`, ...args]
    return { path: programs.restore, args: all, env, signal }
  }

  #login(hostId: number, role: string): Promise<NodeJS.ProcessEnv> {
    const { databases, secrets } = this.#installation
    const { database } = this.#copying.household
    const login = { host: databases.hosts.get(hostId), database, role, password: secrets.rolePassword(role) }
    return loginEnvironment(login, this.#folder)
  }

  #on<T>(side: 'fromHostId' | 'toHostId', work: (session: Session) => Promise<T>): Promise<T> {
    const { admin, hosts } = this.#installation.databases
    const { household, move } = this.#copying
    return admin.use(adminTarget(hosts, move[side], household.database), work)
  }
}

/** Names are arguments of a program, whose length is limited. */
const tablesAtOnce = 200

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
