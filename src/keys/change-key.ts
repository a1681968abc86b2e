import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import type { AuditAction } from '../contract/admin-names.ts'
import { fenceReplicas } from '../hosts/replicas/fence-replicas.ts'
import { whileAskingHost } from '../postgres/control/while-asking-host.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { auditedGrants, lockForCaller, recordKeyAudit } from './caller.ts'
import type { WantedGrants } from './grants.ts'
import type { Key, KeysContext } from './key.ts'
import { findKey } from './reading/find-key.ts'

/**
 * Changes a key's record under its user's lock, with an audit record. Returns the old key, once no process trusts the
 * old record. `change` returns the grants, if it has changed them.
 */
export async function changeKey(
  context: KeysContext,
  account: Account,
  name: string,
  action: AuditAction,
  change: (tx: ClientBase, key: Key) => Promise<WantedGrants | undefined>,
): Promise<Key> {
  const { control } = context.databases
  let hasNewRights = false
  const changeRecord = async (tx: ClientBase) => {
    await lockForCaller(tx, context, account)
    const found = await findKey(context, account, name, tx)
    const changed = await change(tx, found)
    hasNewRights = changed !== undefined
    const grants = changed ?? { ...found.scope, ...found }
    // The other two have all rights, and those of the public role.
    const noted = found.type === 'regular' ? auditedGrants(grants) : {}
    await recordKeyAudit(tx, context, action, account.username, name, noted)
    await announceChange(tx)
    return found
  }
  const key = await whileAskingHost(control, account.hostId, () => inTransaction(control, changeRecord))
  if (hasNewRights) await fenceReplicas(context.databases, account)
  await awaitCaches(control, context.log)
  return key
}
