import { awaitCaches } from '../../auth/change-feed.ts'
import type { Log } from '../../log/log.ts'
import type { Databases } from '../../postgres/databases.ts'
import { askServer } from '../../postgres/replicas/ask-server.ts'
import type { TenantDatabase } from '../../postgres/tenant-names.ts'
import { hasReplicas, raiseFence } from './replica-store.ts'

/**
 * After a change of rights in a tenant database, and before `awaitCaches`: once the change is answered, no process
 * reads there from a replica that has not replayed it. Does not wait for replicas. A replica that is added later is
 * used only when it has replayed what was stored before. False: the host has no replicas.
 */
export async function fenceReplicas(
  { admin, hosts, control }: Databases,
  { hostId, database }: TenantDatabase,
): Promise<boolean> {
  if (!(await hasReplicas(control, hostId))) return false
  const { position } = await askServer(admin, hosts)(hostId, 'primary')
  await raiseFence(control, hostId, database, position)
  return true
}

/** The same for a change that the control database does not record. */
export async function tellReplicas(databases: Databases, place: TenantDatabase, log: Log): Promise<void> {
  if (await fenceReplicas(databases, place)) await awaitCaches(databases.control, log)
}
