import { operator, recordAudit } from '../../audit/audit-store.ts'
import type { Queryable } from '../../postgres/transaction.ts'

/** What the audit record says of a restore of a user. */
export type RestoreDetails = Readonly<{
  /** Of a restore by the admin API. */
  id?: number
  /** The user in the backup. */
  from: string
  file: string
  backup_of: string
}>

/** Requested when it begins; restored in the transaction that makes the user visible. */
export async function recordRestore(
  tx: Queryable,
  action: 'restore.requested' | 'user.restored',
  as: string,
  details: RestoreDetails,
): Promise<void> {
  await recordAudit(tx, { actor: operator, action, account: as, details })
}
