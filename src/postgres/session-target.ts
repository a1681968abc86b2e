import type { Hosts } from './hosts.ts'

/** Where to log in, and as whom. */
export type SessionTarget = Readonly<{
  hostId: number
  database: string
  role: string
  searchPath: string
  /** Whose share of the connections it takes; the administrator's are nobody's. */
  account?: string
  /** For a caller without a key. */
  isAnonymous?: boolean
}>

/** The administrator's way into one database; names resolve in pg_catalog alone. */
export function adminTarget(hosts: Hosts, hostId: number, database?: string): SessionTarget {
  const host = hosts.get(hostId)
  return { hostId, database: database ?? host.adminDatabase, role: host.adminRole, searchPath: 'pg_catalog' }
}
