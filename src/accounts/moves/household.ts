import type { Account } from '../../auth/account.ts'
import type { Installation } from '../../hosts/installation.ts'
import { masterRoleName, organizationDatabaseName } from '../../postgres/tenant-names.ts'
import { masterRolesOf } from '../organization-store.ts'
import type { Move } from './move.ts'

/** What moves: one database, and all who work in it. A user is the only member of its own. */
export type Household = Readonly<{ database: string; members: readonly Account[] }>

/** The name of the database that moves. */
export const databaseOf = ({ namespace }: Installation, { userId, organizationId }: Move) =>
  userId === null ? organizationDatabaseName(namespace, organizationId!) : masterRoleName(namespace, userId)

/** The master roles of all members. Spare members are not copied: their roles are made anew when they are needed. */
export async function mastersOf(installation: Installation, move: Move): Promise<readonly string[]> {
  const { databases, namespace } = installation
  if (move.userId !== null) return [masterRoleName(namespace, move.userId)]
  return masterRolesOf(databases.control, move.organizationId!)
}
