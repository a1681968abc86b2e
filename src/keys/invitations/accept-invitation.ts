import type { Account } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { Key, KeysContext } from '../key.ts'
import { regenerateToken } from '../regenerate-token.ts'
import { findInvitedKey, invitationHash, isInvitation } from './invitation-store.ts'

/** The name of the key that this secret is for, if it is still good. */
export const invitedKey = (
  { databases }: KeysContext,
  { userId }: Account,
  secret: string,
): Promise<string | undefined> => findInvitedKey(databases.control, userId, invitationHash(secret))

/** Gives the key a new token and uses the invitation up. */
export function acceptInvitation(
  context: KeysContext,
  account: Account,
  name: string,
  secret: string,
): Promise<Key> {
  const accepting = { ...context, actor: account.username }
  return regenerateToken(accepting, account, name, 'key.invitation-accepted', async (tx, { id }) => {
    if (!(await isInvitation(tx, id, invitationHash(secret)))) throw errors.invitationUnknown()
  })
}
