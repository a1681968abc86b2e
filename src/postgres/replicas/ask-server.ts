import { answerWithin } from '../answer-within.ts'
import type { Hosts } from '../hosts.ts'
import type { RolePools } from '../pools/role-pools.ts'
import { adminTarget } from '../session-target.ts'

/** What a server says of itself. A primary and its standby have the same `identifier` and `timeline`. */
export type ServerPlace = Readonly<{
  identifier: string
  /** Null if it does not stream from a server and is not a primary. */
  timeline: number | null
  /** In the log, as a number of bytes: up to here everything is stored on a primary, and replayed on a standby. */
  position: bigint
}>

/** Rejects if the server does not answer in time. */
export type AskServer = (id: number, role: ServerRole) => Promise<ServerPlace>

export type ServerRole = 'primary' | 'standby'

type PlaceRow = Readonly<{ identifier: string; timeline: number | null; position: string }>

/** By the administrator's connections, one short query each. */
export function askServer(admin: RolePools, hosts: Hosts): AskServer {
  return async (id, role) => {
    const asked = admin.use(adminTarget(hosts, id), (session) =>
      session.look<PlaceRow>(`place of a ${role}`, placeSql[role], []),
    )
    // If the caller no longer waits, the connection ends by its own limit.
    asked.catch(() => undefined)
    const { rows } = await answerWithin(answerMs, asked)
    return readPlace(rows[0]!)
  }
}

export const readPlace = ({ position, ...row }: PlaceRow): ServerPlace => ({
  ...row,
  position: BigInt(position),
})

/**
 * Where a commit that callers can see is behind. The name of a file of the log begins with the timeline. The flushed position,
 * as the next one to be written may be behind the header of a page, where no record ends.
 */
const ofPrimary = `
  pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_flush_lsn(), '0/0')::text as position,
  ('x' || pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_flush_lsn()), 1, 8))::bit(32)::integer as timeline`

/** A standby that no longer streams may have left the history of its primary. */
const ofStandby = `
  pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_last_wal_replay_lsn(), '0/0')::text as position,
  (select received_tli from pg_catalog.pg_stat_wal_receiver where status = 'streaming') as timeline`

const identifier = '(select system_identifier::text from pg_catalog.pg_control_system()) as identifier'

export const placeSql: Readonly<Record<ServerRole, string>> = {
  primary: `select ${identifier}, ${ofPrimary}`,
  standby: `select ${identifier}, ${ofStandby}`,
}

const answerMs = 2_000
