import { answerWithin } from './answer-within.ts'
import type { Databases } from './databases.ts'
import { endBackendsUntilGone } from './end-backend.ts'
import { adminTarget } from './session-target.ts'

/**
 * Ends what these roles do, except on the backends that `findSpared` returns. Backends that start from now on are spared
 * too: only workers open them.
 */
export async function endRequestsBut(
  databases: Databases,
  hostId: number,
  roles: readonly string[],
  findSpared: () => Promise<readonly SparedBackend[]>,
): Promise<void> {
  const { admin, copy, hosts, query, session, tile } = databases
  for (const pools of [query, copy, session, tile]) for (const role of roles) pools.closeRole(hostId, role)
  const now = await clockOf(databases, hostId)
  const spared = await findSpared()
  const condition = `usename = any ($1) and backend_start <= $2::timestamptz and (pid, backend_start) not in (
    select * from rows from (pg_catalog.unnest($3::integer[]), pg_catalog.unnest($4::timestamptz[])) flight (pid, start)
  )`
  const values = [roles, now, spared.map(({ pid }) => pid), spared.map(({ start }) => start)]
  await Promise.all([
    admin.use(adminTarget(hosts, hostId), (administrator) =>
      endBackendsUntilGone(administrator, condition, values),
    ),
    endOnReplicas(databases, hostId, roles),
  ])
}

/**
 * Ends what these roles do on the replicas of a host, where no job runs. A replica that does not answer in time is not
 * waited for: statements there cannot write, and the roles cannot begin new ones there.
 */
export async function endOnReplicas(
  { admin, hosts, replicas }: Databases,
  hostId: number,
  roles: readonly string[],
): Promise<void> {
  const ends = hosts.replicas(hostId).map(async ({ id }) => {
    const end = admin.use(adminTarget(hosts, id), (administrator) =>
      endBackendsUntilGone(administrator, 'usename = any ($1)', [roles]),
    )
    await answerWithin(replicaMs, end).catch((error: unknown) => replicas.couldNotEnd(id, error))
  })
  await Promise.all(ends)
}

const replicaMs = 3_000

/** The start time as text: a JavaScript Date has no microseconds. */
export type SparedBackend = Readonly<{ pid: number; start: string }>

async function clockOf({ admin, hosts }: Databases, hostId: number): Promise<string> {
  return admin.use(adminTarget(hosts, hostId), async (session) => {
    const { rows } = await session.query<{ now: string }>('select pg_catalog.clock_timestamp()::text as now')
    return rows[0]!.now
  })
}
