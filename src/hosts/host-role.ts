import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { isStandby } from '../postgres/wire/standby.ts'

/** The standbys that follow a primary now. */
export type Replication = Readonly<{
  standbys: number
  /** The number of standbys that commits wait for. */
  synchronous: number
  /** Commits wait for a synchronous standby, even if none is connected. */
  isSynchronous: boolean
  /** Lag of the slowest one; null if there is none. */
  lagBytes: number | null
  /** The same in time; also null if nothing has been written for a while. */
  lagMs: number | null
}>

/** The role of a host. A standby gets no further query: we do not use connections to it. */
export type HostRole =
  | Readonly<{ role: 'primary'; replication: Replication }>
  | Readonly<{ role: 'standby'; replication?: never }>

/** Rejects if the host does not answer. */
export async function hostRole({ admin, hosts }: Databases, hostId: number): Promise<HostRole> {
  try {
    const { rows } = await admin.use(adminTarget(hosts, hostId), (session) =>
      session.query<Replication>(replicationSql),
    )
    return { role: 'primary', replication: rows[0]! }
  } catch (error) {
    if (isStandby(error)) return { role: 'standby' }
    throw error
  }
}

/** Neither a base backup nor a logical subscriber is a standby. */
const replicationSql = `
  select count(*)::integer as standbys,
    (count(*) filter (where r.sync_state in ('sync', 'quorum')))::integer as synchronous,
    pg_catalog.current_setting('synchronous_standby_names') <> '' as "isSynchronous",
    max(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), r.replay_lsn))::float8 as "lagBytes",
    (max(pg_catalog.extract('epoch', r.replay_lag)) * 1000)::float8 as "lagMs"
  from pg_catalog.pg_stat_replication r
  left join pg_catalog.pg_replication_slots s on s.active_pid = r.pid
  where r.state <> 'backup' and s.slot_type is distinct from 'logical'`
