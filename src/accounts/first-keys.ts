import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { defaultToken } from '../auth/token.ts'
import type { Secrets } from '../secrets.ts'

export const masterKeyName = 'Master'
export const defaultKeyName = 'Default public'

/** Every user has these two; their roles are the user's own. */
export async function insertFirstKeys(
  tx: ClientBase,
  secrets: Secrets,
  account: Account,
  masterToken: string,
): Promise<void> {
  await tx.query(
    `insert into cartage.api_keys (user_id, name, type, role_name, token_hash, token_encrypted)
     values ($1, $2, 'master', $3, $4, $5), ($1, $6, 'default', $7, $8, $9)`,
    [
      account.userId,
      masterKeyName,
      account.masterRole,
      secrets.hashToken(masterToken),
      secrets.encryptToken(masterToken),
      defaultKeyName,
      account.publicRole,
      secrets.hashToken(defaultToken),
      secrets.encryptToken(defaultToken),
    ],
  )
}
