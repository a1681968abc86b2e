import type { SetLimits } from '../contract/admin-names.ts'
import type { Hosts } from './hosts.ts'
import type { TenantDatabase } from './tenant-names.ts'

/** Where to log in, and as which role. */
export type SessionTarget = TenantDatabase &
  Readonly<{
    role: string
    searchPath: string
    /** The account whose connection limit it counts against; none for the administrator. */
    account?: string
    /** What the account has in place of the configured limits. */
    limits?: SetLimits
    /** The caller has no key. */
    isAnonymous?: boolean
    /** The host of the account, if `hostId` is that of one of its replicas. */
    replicaOf?: number
  }>

/** The host whose data it is: of a session on a replica, the one that the replica follows. */
export const homeOf = ({ hostId, replicaOf }: Pick<SessionTarget, 'hostId' | 'replicaOf'>) =>
  replicaOf ?? hostId

/** The administrator in one database; names resolve in pg_catalog only. */
export function adminTarget(hosts: Hosts, hostId: number, database?: string): SessionTarget {
  const host = hosts.get(hostId)
  return { hostId, database: database ?? host.adminDatabase, role: host.adminRole, searchPath: 'pg_catalog' }
}
