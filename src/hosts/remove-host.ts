import { operator, recordAudit } from '../audit/audit-store.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { errors } from '../errors.ts'
import { templateName } from '../postgres/tenant-names.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { deleteHostRow, lockHost } from './host-store.ts'
import type { Installation } from './installation.ts'
import { isOutOfReach } from './out-of-reach.ts'
import { dropDatabase } from './tenant-databases.ts'

/** Forgets a PostgreSQL cluster that has no tenants. Our template goes from it if it answers; nothing else of ours is there. */
export async function removeHost(installation: Installation, name: string): Promise<void> {
  const { control, hosts } = installation.databases
  const id = await inTransaction(control, async (tx) => {
    const host = await lockHost(tx, name)
    if (!host) throw errors.hostInvalid(`There is no host '${name}'`)
    if (host.isFirst) throw errors.hostInvalid(`The host '${name}' holds the control database`)
    if (host.databases > 0)
      throw errors.hostInvalid(
        `The host '${name}' has ${host.databases} databases of users: delete those users first (cartage user list)`,
      )
    await deleteHostRow(tx, host.id)
    await recordAudit(tx, { actor: operator, action: 'host.removed', subject: name })
    await announceChange(tx)
    return host.id
  })
  await awaitCaches(control, installation.log)
  await dropTemplate(installation, id)
  hosts.forget(id)
}

async function dropTemplate({ databases, namespace }: Installation, hostId: number): Promise<void> {
  await dropDatabase(databases, hostId, templateName(namespace)).catch((error: unknown) => {
    if (!isOutOfReach(error)) throw error
  })
}
