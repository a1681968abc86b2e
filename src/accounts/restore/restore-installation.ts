import type { Account } from '../../auth/account.ts'
import type { Config } from '../../config/config.ts'
import { errors } from '../../errors.ts'
import { packageFile } from '../../files/package-file.ts'
import type { Installation } from '../../hosts/installation.ts'
import { prepareHost } from '../../hosts/prepare-hosts.ts'
import { checkSecret } from '../../hosts/secret/check-secret.ts'
import { rotateSecret } from '../../hosts/secret/rotate-secret.ts'
import { prepareTemplate } from '../../hosts/tenant-databases.ts'
import type { Log } from '../../log/log.ts'
import { prepareControlDatabase } from '../../postgres/control/control-database.ts'
import { type Databases, openDatabases } from '../../postgres/databases.ts'
import { findDumpPrograms } from '../../postgres/dump/find-programs.ts'
import { firstHostId, hostFromUrl } from '../../postgres/hosts.ts'
import { readMigrations } from '../../postgres/migrate.ts'
import type { Session } from '../../postgres/session.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { restoreDraftName } from '../../postgres/tenant-names.ts'
import { deriveSecrets } from '../../secrets.ts'
import { unlessAborted } from '../../waiting/unless-aborted.ts'
import { requireEqual } from '../moves/compare.ts'
import { copyAccount, majorOf } from '../moves/copy-account.ts'
import { dropMover } from '../moves/mover.ts'
import { rolesOf } from '../tenant-roles.ts'
import { listAccounts } from '../user-store.ts'
import { copyControl } from './copy-control.ts'
import { anyOrganization, endMoves, furtherHosts, settleFlights } from './restore-store.ts'
import { type Backup, backupHostId, longestCopyMs } from './saved-user.ts'
import { beginTarget, clearTarget, holdingTarget, nameTarget } from './target.ts'

export type Restoration = Readonly<{
  config: Config
  log: Log
  /** Runs the backup while `work` reads it. */
  running: (work: (backup: Backup, signal: AbortSignal) => Promise<number>) => Promise<number>
  /** The secret of the installation in the backup. */
  secret: string
  /** The operator has said that no other installation uses the further hosts of the backup. */
  withHosts: boolean
}>

/**
 * Restores a whole installation into the PostgreSQL of the configuration, which must have none. Its control database gets
 * its name as the last step: until then nothing can serve it, and a restore that was cut off can be repeated. Returns the
 * number of users.
 */
export async function restoreInstallation(
  { config, log, running, secret, withHosts }: Restoration,
  saved: Pick<Backup, 'namespace' | 'major'>,
): Promise<number> {
  const { namespace } = saved
  const draft = restoreDraftName(namespace)
  const secrets = deriveSecrets(config.secret)
  const open = () => openDatabases({ ...config, namespace: draft }, config.databaseUrl, secrets, log)
  return usingDatabases(open, (target) =>
    holdingTarget(target, namespace, async (session) => {
      const made = await beginTarget(target, saved)
      try {
        const count = await running(async (backup, signal) => {
          await prepareBackup({ config, log, secret, withHosts }, backup)
          signal.throwIfAborted()
          return usingDatabases(open, (databases) => fill(databases, { log, backup, config, signal }))
        })
        await nameTarget(target, made)
        return count
      } catch (error) {
        await giveUp(session, namespace, log)
        throw error
      }
    }),
  )
}

async function usingDatabases<T>(open: () => Databases, work: (databases: Databases) => Promise<T>) {
  const databases = open()
  try {
    return await work(databases)
  } finally {
    await databases.close()
  }
}

async function giveUp(session: Session, namespace: string, log: Log): Promise<void> {
  await clearTarget(session, namespace).catch((error: unknown) =>
    log.error({ err: error }, 'what was restored could not be removed: the next restore removes it'),
  )
}

/**
 * In the cluster of the backup, which is thrown away later: brings it to this version, and under the secret of the
 * configuration. Other hosts of the installation are not asked for anything.
 */
async function prepareBackup(
  { config, log, secret, withHosts }: Omit<Restoration, 'running'>,
  backup: Backup,
): Promise<void> {
  const { namespace, url } = backup
  const secrets = deriveSecrets(secret)
  const open = () => openDatabases({ ...config, namespace }, url, secrets, log)
  await usingDatabases(open, async (databases) => {
    const { control } = databases
    await prepareControlDatabase(databases, namespace, await migrationsIn('control'))
    const further = await furtherHosts(control)
    if (further.length > 0 && !withHosts)
      throw errors.restoreRefused(
        `The backup has further hosts (${further.join(', ')}), where two installations would run the same jobs: stop the old one for good, then give --with-hosts`,
      )
    const organization = await anyOrganization(control)
    if (organization !== undefined)
      throw errors.restoreRefused(
        `The backup has the organization '${organization}', and organizations are restored as an embedded installation only: unset CARTAGE_DATABASE_URL`,
      )
    await checkSecret(control, secrets)
    const installation = await installationOn(databases, { namespace, secrets, log })
    if (!(await prepareHost(installation, firstHostId)))
      throw errors.restoreRefused('A database of the backup could not be brought to this version')
    if (secret !== config.secret)
      await rotateSecret(installation, deriveSecrets(config.secret), async () => undefined)
    await settleFlights(control)
    await control.query(endMoves)
  })
}

const migrationsIn = (folder: string) => readMigrations(packageFile(`migrations/${folder}`))

async function installationOn(
  databases: Databases,
  rest: Pick<Installation, 'namespace' | 'secrets' | 'log'>,
): Promise<Installation> {
  const [tenantMigrations, hostMigrations] = [await migrationsIn('tenant'), await migrationsIn('host')]
  return { ...rest, databases, tenantMigrations, hostMigrations }
}

type RestoreInput = Readonly<{ backup: Backup; config: Config; log: Log; signal: AbortSignal }>

/** The control database into the draft, then one user after the other. */
async function fill(databases: Databases, { backup, config, log, signal }: RestoreInput): Promise<number> {
  const { namespace } = backup
  databases.hosts.register(hostFromUrl(backupHostId, 'backup', backup.url))
  const secrets = deriveSecrets(config.secret)
  const installation = await installationOn(databases, { namespace, secrets, log })
  const programs = await findDumpPrograms(await majorOf(installation, firstHostId))
  await copyControl(databases, programs, { from: namespace, to: restoreDraftName(namespace) }, signal)
  await prepareTemplate(installation, firstHostId)
  const accounts = (await listAccounts(databases.control)).filter(({ hostId }) => hostId === firstHostId)
  for (const account of accounts)
    await copyUser(installation, account, programs, limited(signal)).catch((error: unknown) => {
      signal.throwIfAborted()
      const reason = error instanceof Error ? error.message : String(error)
      throw errors.restoreRefused(`The user '${account.username}' cannot be restored: ${reason}`)
    })
  return accounts.length
}

const limited = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(longestCopyMs)])

/** Copies like a move, from the backup to the server: as the user itself, never as superuser. */
async function copyUser(
  installation: Installation,
  account: Account,
  programs: Awaited<ReturnType<typeof findDumpPrograms>>,
  signal: AbortSignal,
): Promise<void> {
  const { databases } = installation
  const roles = await databases.admin.use(adminTarget(databases.hosts, backupHostId), (session) =>
    rolesOf(session, account.masterRole),
  )
  const { before, after } = await copyAccount(installation, {
    household: { database: account.database, members: [{ ...account, hostId: backupHostId }] },
    move: { fromHostId: backupHostId, toHostId: firstHostId },
    programs,
    roles,
    signal,
    noteProgress: async () => undefined,
  })
  const [there, here] = await unlessAborted(signal, Promise.all([before, after()]))
  requireEqual(there, here)
  await dropMover(databases, firstHostId, account.masterRole)
}
