import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../audit/audit-store.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { errors } from '../errors.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import { isControlDatabase } from '../postgres/control/control-database.ts'
import type { Databases } from '../postgres/databases.ts'
import { templateName } from '../postgres/tenant-names.ts'
import { onConnection } from '../postgres/transaction.ts'
import { possibleTwin } from './check-cluster.ts'
import { deleteHostRow, forgetLeftovers, lockHost } from './host-store.ts'
import type { Installation } from './installation.ts'
import { loadHosts } from './load-hosts.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { dropDatabase } from './tenant-databases.ts'

/**
 * Removes a PostgreSQL cluster without tenants. Drops our databases there; if that fails, the log says so. Of a lost
 * one it ends the moves that only wait to drop something there. No host is added before all this is done: it may be
 * the same cluster.
 */
export async function removeHost(installation: Installation, name: string, isLost = false): Promise<void> {
  await oneAtATime(installation, async (locked) => {
    const { databases, log } = installation
    const { control, hosts } = databases
    // What another process has added just now.
    await loadHosts(installation)
    const removed = await onConnection(locked, async (tx) => {
      const id = await deleteHost(tx, name, isLost)
      // From the commit on this process may forget it. It never knew one whose address it cannot read.
      return hosts.has(id) ? hosts.get(id) : undefined
    })
    // The host is removed now, whatever becomes of the rest: a repeated removal would only say that there is none.
    const logLeft = (error: unknown) =>
      log.error(
        { host: name, err: error },
        'a host is removed, but its databases of this installation may be left',
      )
    await awaitCaches(control, log).catch(logLeft)
    if (!removed) return logLeft(new Error('its address cannot be read here'))
    hosts.forget(removed.id)
    const apart = databases.withHost(removed)
    await answerWithin(longestDropMs, dropOurs(apart, removed.id, locked)).catch(logLeft)
    await apart.close()
  })
}

/** No other host is added or removed meanwhile. */
const longestDropMs = 60_000

async function deleteHost(tx: ClientBase, name: string, isLost: boolean): Promise<number> {
  const host = await lockHost(tx, name)
  if (!host) throw errors.hostInvalid(`There is no host '${name}'`)
  if (host.isFirst) throw errors.hostInvalid(`The host '${name}' holds the control database`)
  if (host.databases > 0)
    throw errors.hostInvalid(
      `The host '${name}' has ${host.databases} databases of users: move them to other hosts first (cartage host drain ${name})`,
    )
  const ended = isLost ? await forgetLeftovers(tx, host.id) : 0
  if (host.moves > ended)
    throw errors.hostInvalid(`A user moves from or to the host '${name}' (cartage move list)`)
  await deleteHostRow(tx, host.id)
  await recordAudit(tx, {
    actor: operator,
    action: 'host.removed',
    subject: name,
    ...(isLost && { details: { lost: true } }),
  })
  await announceChange(tx)
  return host.id
}

/**
 * The template and the service's own database. If the latter is another installation's control database, both are kept;
 * and so they are if another registered host may be the same cluster, or another process may add it again.
 */
async function dropOurs(databases: Databases, hostId: number, locked: ClientBase): Promise<void> {
  const { namespace } = databases
  if (await isControlDatabase(databases, hostId)) return
  const twin = await possibleTwin(databases, hostId)
  if (twin !== undefined) throw new Error(`the host '${twin}' may be the same cluster`)
  const isStillLocked = async () => void (await locked.query('select'))
  for (const name of [templateName(namespace), namespace])
    await dropDatabase(databases, hostId, name, isStillLocked)
}
