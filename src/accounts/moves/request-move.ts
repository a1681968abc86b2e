import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../../audit/audit-store.ts'
import { userByName } from '../../auth/account-store.ts'
import { errors } from '../../errors.ts'
import { shareHost } from '../../hosts/host-store.ts'
import type { Installation } from '../../hosts/installation.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { findOrganization } from '../organization-store.ts'
import type { Move } from './move.ts'
import { findMove, insertMove } from './move-store.ts'

/** What shall move, by its name. */
export type Wanted = Readonly<{ kind: 'user' | 'organization'; name: string }>

/** Records that an account shall move to another host. `carryOut` does it, here or in another process. */
export async function requestMove(
  { databases: { control } }: Installation,
  { kind, name }: Wanted,
  hostName: string,
): Promise<Move> {
  return inTransaction(control, async (tx) => {
    const account = kind === 'user' ? await findUser(tx, name) : await findMovable(tx, name)
    const host = await shareHost(tx, hostName)
    if (!host) throw errors.hostInvalid(`There is no host '${hostName}'`)
    if (host.id === account.fromHostId)
      throw errors.hostInvalid(`The ${kind} '${name}' is on the host '${hostName}' already`)
    if (!host.acceptsUsers) throw errors.hostInvalid(`The host '${hostName}' takes no new users`)
    const id = await insertMove(tx, { ...account, toHostId: host.id })
    if (id === undefined) throw errors.accountBusy(name)
    const move = (await findMove(tx, id))!
    await recordAudit(tx, {
      actor: operator,
      action: `${kind}.moved`,
      account: name,
      details: { from: move.fromHost, to: move.toHost },
    })
    return move
  })
}

async function findUser(tx: ClientBase, username: string) {
  const account = await userByName(tx, username)
  if (!account) throw errors.accountNotFound('User', username)
  const { organization, isMoving, userId, hostId } = account
  if (organization)
    throw errors.accountInvalid(
      `The user '${username}' is a member of the organization '${organization.name}', whose members share one database: move the organization`,
    )
  if (isMoving) throw errors.accountBusy(username)
  return { userId, organizationId: null, fromHostId: hostId }
}

async function findMovable(tx: ClientBase, name: string) {
  const organization = await findOrganization(tx, name)
  if (organization?.state !== 'active') throw errors.accountNotFound('Organization', name)
  return { userId: null, organizationId: organization.id, fromHostId: organization.hostId }
}
