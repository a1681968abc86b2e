import { operator, recordAudit } from '../../audit/audit-store.ts'
import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import { errors } from '../../errors.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import type { Installation } from '../installation.ts'
import { deleteReplica } from './replica-store.ts'

/** When this returns, no process begins a read there. The server itself is left alone. */
export async function removeReplica(
  { databases: { control }, log }: Installation,
  name: string,
  ofHost?: string,
): Promise<void> {
  await inTransaction(control, async (tx) => {
    const host = await deleteReplica(tx, name, ofHost)
    if (host === undefined) throw errors.notFound(`Replica '${name.slice(0, 100)}'`)
    await recordAudit(tx, { actor: operator, action: 'replica.removed', subject: name, details: { host } })
    await announceChange(tx)
  })
  await awaitCaches(control, log)
}
