import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { newToken } from '../auth/token.ts'
import type { ReadFrom } from '../contract/key-names.ts'
import { AppError, errors } from '../errors.ts'
import { whileAskingHost } from '../postgres/control/while-asking-host.ts'
import { keyRoleName } from '../postgres/tenant-names.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { auditedGrants, lockForCaller, recordKeyAudit } from './caller.ts'
import { asGranted, type WantedGrants, writes } from './grants.ts'
import type { Key, KeyRecord, KeysContext } from './key.ts'
import { createKeyRole, type GrantFault } from './key-role.ts'
import { findKeyByName, insertKey, isRoleOfKey, lockOwner, nextKeyId } from './key-store.ts'
import { removeKeyRole } from './remove-key-role.ts'
import { settleTemporaryTables } from './temporary-tables.ts'

export type WantedKey = Readonly<{
  name: string
  grants: WantedGrants
  description?: string | undefined
  expiresAt?: string | null | undefined
  readFrom?: ReadFrom | undefined
  /** Maximum number of keys of a user without its own limit; 0 is unlimited. */
  defaultQuota: number
}>

/**
 * Creates a regular key: its role with all grants, then its record. The role is committed first, so that a crash in
 * between leaves a role without a record, which repair removes, and never a key that does not work.
 */
export async function createKey(context: KeysContext, account: Account, request: WantedKey): Promise<Key> {
  const { control } = context.databases
  const { name, grants, description, expiresAt, readFrom } = request
  let record: KeyRecord | undefined
  try {
    const create = async (tx: ClientBase) => {
      const id = await reserveKeyId(tx, context, account, request)
      const role = keyRoleName(account.masterRole, id)
      const key = { id, role, token: newToken(), name, scope: grants, description, expiresAt, readFrom }
      record = await insertKey(tx, context.secrets, account, key)
      if (!record) throw errors.keyInvalid([notAhead])
      refuseFaults(await createKeyRole(context, account, role, grants))
      if (writes(grants)) await settleTemporaryTables(context, account, role)
      await recordKeyAudit(tx, context, 'key.created', account.username, name, auditedGrants(grants))
      await announceChange(tx)
    }
    await whileAskingHost(control, account.hostId, () => inTransaction(control, create))
  } catch (error) {
    // Our own refusals come before the role is committed.
    if (!record || error instanceof AppError || !(await isKept(context, account, record.role))) throw error
  }
  await awaitCaches(control, context.log)
  return { ...record!, ...asGranted(grants) }
}

export const notAhead = 'expires_at must be in the future'

/** Call under the user's lock: checks the quota and the name. */
async function reserveKeyId(
  tx: ClientBase,
  context: KeysContext,
  account: Account,
  { name, defaultQuota }: WantedKey,
): Promise<number> {
  const { keyQuota, keyCount } = await lockForCaller(tx, context, account)
  const quota = keyQuota ?? defaultQuota
  if (quota > 0 && keyCount >= quota) throw errors.keyQuotaReached()
  if (await findKeyByName(tx, context.secrets, account.userId, name)) {
    throw errors.keyInvalid(['Name has already been taken'])
  }
  return nextKeyId(tx)
}

function refuseFaults(faults: readonly GrantFault[]): void {
  if (faults.length === 0) return
  throw errors.keyInvalid(faults.map((fault) => faultTexts[fault]))
}

export const faultTexts: Readonly<Record<GrantFault, string>> = {
  tables: 'Grants can only grant table permissions you have',
  schemas: 'Grants can only grant schema permissions you have',
}

/**
 * After a failure: a commit whose answer was lost may still have happened, or arrive late. When the user's lock is
 * free, that transaction has ended. If it made no key, the role is removed.
 */
async function isKept(context: KeysContext, account: Account, role: string): Promise<boolean> {
  try {
    const isMade = await inTransaction(context.databases.control, async (tx) => {
      await lockOwner(tx, account.userId)
      return isRoleOfKey(tx, role)
    })
    if (isMade) return true
    await removeKeyRole(context, account, role)
  } catch (again) {
    context.log.error({ err: again, role }, 'a key was not created, and its role is left to repair')
  }
  return false
}
