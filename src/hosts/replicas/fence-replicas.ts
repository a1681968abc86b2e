import { awaitCaches } from '../../auth/change-feed.ts'
import type { Log } from '../../log/log.ts'
import type { Databases } from '../../postgres/databases.ts'
import { askServer } from '../../postgres/replicas/ask-server.ts'
import { hasReplicas, raiseFence } from './replica-store.ts'

type Place = Readonly<{ hostId: number; database: string }>

/**
 * After a change of rights in a tenant database, and before `awaitCaches`: from the answer to the change on, no process reads there from a
 * replica that has not replayed it. Waits for no replica. A replica that is added after the question here is used only once it has all
 * that was stored by then. False: the host has none.
 */
export async function fenceReplicas(
  { admin, hosts, control }: Databases,
  { hostId, database }: Place,
): Promise<boolean> {
  if (!(await hasReplicas(control, hostId))) return false
  const { position } = await askServer(admin, hosts)(hostId, 'primary')
  await raiseFence(control, hostId, database, position)
  return true
}

/** The same for a change that the control database does not record. */
export async function tellReplicas(databases: Databases, place: Place, log: Log): Promise<void> {
  if (await fenceReplicas(databases, place)) await awaitCaches(databases.control, log)
}
