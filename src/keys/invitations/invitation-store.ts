import { createHash } from 'node:crypto'
import type { ClientBase } from 'pg'
import { defaultInvitationDays, longestInvitationDays } from '../../contract/limits.ts'
import type { Queryable } from '../../postgres/transaction.ts'

/** Replaces an invitation to the same key. Returns until when it is good; undefined if that is past, or too far ahead. */
export async function storeInvitation(
  tx: ClientBase,
  keyId: number,
  hash: Buffer,
  until: string | undefined,
): Promise<string | undefined> {
  const { rows } = await tx.query<{ until: string }>(
    `update cartage.api_keys set invitation_hash = $2, invited_until = coalesce($3, now() + $4 * interval '1 day')
     where id = $1 and ($3::timestamptz is null or $3 > now() and $3 <= now() + $5 * interval '1 day')
     returning to_json(invited_until) as until`,
    [keyId, hash, until, defaultInvitationDays, longestInvitationDays],
  )
  return rows[0]?.until
}

/** False: there was none. */
export async function deleteInvitation(tx: ClientBase, keyId: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.api_keys set invitation_hash = null, invited_until = null
     where id = $1 and invitation_hash is not null`,
    [keyId],
  )
  return rowCount === 1
}

/** The name of the key that the invitation is for. */
export async function findInvitedKey(
  control: Queryable,
  userId: number,
  hash: Buffer,
): Promise<string | undefined> {
  const { rows } = await control.query<{ name: string }>(
    `select name from cartage.api_keys
     where user_id = $1 and invitation_hash = $2 and invited_until > now()
       and (expires_at is null or expires_at > now())`,
    [userId, hash],
  )
  return rows[0]?.name
}

/** Call under the user's lock. False: it has been used or replaced meanwhile. */
export async function isInvitation(tx: ClientBase, keyId: number, hash: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query('select from cartage.api_keys where id = $1 and invitation_hash = $2', [
    keyId,
    hash,
  ])
  return rowCount === 1
}

/** How a secret is stored. Without the secret of the installation, so that links outlive its rotation. */
export const invitationHash = (secret: string): Buffer => createHash('sha256').update(secret).digest()
