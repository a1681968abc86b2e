import { operator, recordAudit } from '../../audit/audit-store.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { errors } from '../../errors.ts'
import { shareHost } from '../../hosts/host-store.ts'
import type { Installation } from '../../hosts/installation.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import type { Move } from './move.ts'
import { findMove, insertMove } from './move-store.ts'

/** Records that a user shall move to another host. `carryOut` does it, here or in another process. */
export async function requestMove(
  { databases: { control } }: Installation,
  username: string,
  hostName: string,
): Promise<Move> {
  return inTransaction(control, async (tx) => {
    const account = await userByName(tx, username)
    if (!account) throw errors.accountNotFound('User', username)
    refuseUnmovable(account)
    const host = await shareHost(tx, hostName)
    if (!host) throw errors.hostInvalid(`There is no host '${hostName}'`)
    if (host.id === account.hostId)
      throw errors.hostInvalid(`The user '${username}' is on the host '${hostName}' already`)
    if (!host.acceptsUsers) throw errors.hostInvalid(`The host '${hostName}' takes no new users`)
    const { userId, hostId: fromHostId } = account
    const id = await insertMove(tx, { userId, fromHostId, toHostId: host.id })
    if (id === undefined) throw errors.accountBusy(username)
    const move = (await findMove(tx, id))!
    await recordAudit(tx, {
      actor: operator,
      action: 'user.moved',
      account: username,
      details: { from: move.fromHost, to: move.toHost },
    })
    return move
  })
}

function refuseUnmovable({ username, organization, suspension, isMoving }: Account): void {
  if (organization)
    throw errors.accountInvalid(
      `The user '${username}' is a member of the organization '${organization.name}', whose members share one database`,
    )
  if (isMoving) throw errors.accountBusy(username)
  if (suspension) throw errors.accountInvalid(`The user '${username}' is suspended: resume it first`)
}
