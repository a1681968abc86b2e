import { answerWithin } from './answer-within.ts'
import type { Databases } from './databases.ts'
import { adminTarget } from './session-target.ts'

/** Resources of a cluster that all its tenants share. */
export type HostPressure = Readonly<{
  /** Fill level of the notification queue, from 0 to 1. */
  notifyQueue: number
  /** Age of the oldest unfrozen transaction; at 2,147 million the cluster stops. */
  xidAge: number
  /** How long the oldest snapshot has held back VACUUM, and by how many transactions. */
  snapshotSeconds: number
  snapshotAge: number
}>

export async function hostPressure(
  { admin, hosts }: Pick<Databases, 'admin' | 'hosts'>,
  hostId: number,
): Promise<HostPressure> {
  const { rows } = await admin.use(adminTarget(hosts, hostId), (session) =>
    session.query<HostPressure>(`
      select pg_catalog.pg_notification_queue_usage() as "notifyQueue",
        (select max(age(datfrozenxid)) from pg_catalog.pg_database) as "xidAge",
        coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 as "snapshotSeconds",
        coalesce(max(age(backend_xmin)), 0) as "snapshotAge"
      from pg_catalog.pg_stat_activity where backend_xmin is not null and pid <> pg_catalog.pg_backend_pid()`),
  )
  return rows[0]!
}

/** By host name, for every host that answers in time. */
export async function hostPressures(databases: Databases): Promise<ReadonlyMap<string, HostPressure>> {
  const found = await Promise.all(
    databases.hosts.all().map(async ({ id, name }) => {
      const pressure = await answerWithin(soonMs, hostPressure(databases, id)).catch(() => undefined)
      return pressure && ([name, pressure] as const)
    }),
  )
  return new Map(found.filter((entry) => entry !== undefined))
}

const soonMs = 2_000
