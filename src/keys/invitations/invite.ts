import type { Account } from '../../auth/account.ts'
import { newToken } from '../../auth/token.ts'
import { longestInvitationDays } from '../../contract/limits.ts'
import { errors } from '../../errors.ts'
import { changeKey } from '../change-key.ts'
import type { KeysContext } from '../key.ts'
import { deleteInvitation, invitationHash, storeInvitation } from './invitation-store.ts'

export type Invitation = Readonly<{ secret: string; until: string }>

/** Makes the secret of a link that gives its receiver this key. An earlier one is no longer good. */
export async function invite(
  context: KeysContext,
  account: Account,
  name: string,
  until: string | undefined,
): Promise<Invitation> {
  const secret = newToken()
  let stored: string | undefined
  await changeKey(context, account, name, 'key.invited', async (tx, { id, type }) => {
    if (type !== 'regular') throw errors.keyInvalid(['Only a regular key can be given by an invitation'])
    stored = await storeInvitation(tx, id, invitationHash(secret), until)
    if (stored === undefined)
      throw errors.keyInvalid([`expires_at must be within the next ${longestInvitationDays} days`])
    return undefined
  })
  return { secret, until: stored! }
}

/** From now on the link is not good any more. */
export async function withdrawInvitation(
  context: KeysContext,
  account: Account,
  name: string,
): Promise<void> {
  await changeKey(context, account, name, 'key.invitation-withdrawn', async (tx, { id }) => {
    if (!(await deleteInvitation(tx, id))) throw errors.invitationUnknown()
    return undefined
  })
}
