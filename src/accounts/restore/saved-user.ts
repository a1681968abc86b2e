import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { errors } from '../../errors.ts'
import { packageFile } from '../../files/package-file.ts'
import type { Installation } from '../../hosts/installation.ts'
import { migrateTenant } from '../../hosts/tenant-databases.ts'
import { firstHostId } from '../../postgres/hosts.ts'
import { migrate, readMigrations } from '../../postgres/migrate.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { rolesOf } from '../tenant-roles.ts'
import { checkSavedUser } from './check-saved.ts'
import { readSavedKeys, type SavedKey } from './restore-store.ts'

/** A backup that runs as a cluster of its own. This process knows it as a host that no control database has. */
export type Backup = Readonly<{ url: string; namespace: string; major: number; createdAt: string }>

export const backupHostId = 0

/** For one user: its code runs while its rows are copied, and may never end. */
export const longestCopyMs = 12 * 3_600_000

/** A user as the backup has it. */
export type SavedUser = Readonly<{
  account: Account
  /** Roles with a key. A role without a key was about to be dropped. */
  roles: readonly string[]
  keys: readonly SavedKey[]
}>

/** Brings the control database of the backup and the database of the user to this version, and reads the user. */
export async function readSavedUser(
  installation: Installation,
  { namespace }: Backup,
  username: string,
): Promise<SavedUser> {
  const { admin, hosts } = installation.databases
  const migrations = await readMigrations(packageFile('migrations/control'))
  const control = adminTarget(hosts, backupHostId, namespace)
  const { account, keys } = await admin.use(control, async (session) => {
    await session.onClient((client) => migrate(client, migrations))
    const account = await userByName(session, username)
    if (!account) throw errors.restoreRefused(`The backup has no user '${username}'`)
    return { account, keys: await readSavedKeys(session, account.userId) }
  })
  refuseForeign(account)
  checkSavedUser(account, keys)
  await migrateTenant(installation.databases, backupHostId, account.database, installation.tenantMigrations)
  const roles = await admin.use(adminTarget(hosts, backupHostId), (session) =>
    rolesOf(session, account.masterRole),
  )
  return { account, keys, roles }
}

function refuseForeign({ username, organization, hostId, schema }: Account): void {
  if (organization)
    throw errors.restoreRefused(
      `The user '${username}' is a member of the organization '${organization.name}', whose members share one database`,
    )
  if (hostId !== firstHostId)
    throw errors.restoreRefused(
      `The user '${username}' was on another host than that of the backup: its data is not in the file`,
    )
  // The administrator grants on it.
  if (schema !== 'public')
    throw errors.restoreRefused(
      `The user '${username}' is not one that Cartage made: its schema is not 'public'`,
    )
}
