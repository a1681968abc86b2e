import type { Account } from '../auth/account.ts'
import { quoteName } from '../contract/text/quote.ts'
import { dropOwnedElsewhere, inSteps } from '../postgres/drop-owned.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { onConnection } from '../postgres/transaction.ts'
import { endSessions } from './end-sessions.ts'
import type { KeysContext } from './key.ts'
import { untilFree } from './until-free.ts'

/**
 * Removes the role of a key whose record is gone; false if there was none. Its rights go first, without waiting for
 * tenants. Then its objects are handed over to the user and the role is dropped: both fail if another session locks
 * them, and can be repeated at any time.
 */
export async function removeKeyRole(context: KeysContext, account: Account, role: string): Promise<boolean> {
  if (!(await shutOut(context, account, role))) return false
  await handOver(context, account, role)
  await dropRole(context, account, role)
  return true
}

/** Retries in the background what another session locks now. If this process ends first, repair does it. */
export async function removeKeyRoleLater(
  context: KeysContext,
  account: Account,
  role: string,
  cause: unknown,
): Promise<void> {
  context.log.warn(
    { err: cause, role },
    'the objects of a deleted key are locked: they are handed over later',
  )
  await untilFree({ log: context.log, role }, () => removeKeyRole(context, account, role))
}

/**
 * Revokes memberships, sessions, grants and login. False: there is no such role. The membership goes first, on its own:
 * it lets the role connect, and unlike the role's own login no tenant can lock it.
 */
async function shutOut({ databases }: KeysContext, account: Account, role: string): Promise<boolean> {
  const { admin, hosts } = databases
  const { hostId, database, publicRole } = account
  const isThere = await admin.use(adminTarget(hosts, hostId), async (session) => {
    const { rowCount } = await session.query('select from pg_catalog.pg_roles where rolname = $1', [role])
    if (rowCount === 0) return false
    await session.query(`revoke ${quoteName(publicRole)} from ${quoteName(role)}`)
    return true
  })
  if (!isThere) return false
  await endSessions(databases, hostId, role)
  await admin.use(adminTarget(hosts, hostId, database), (session) =>
    endingBlockers(databases, session, () => session.query('select cartage.revoke_all_grants($1)', [role])),
  )
  // A request in progress may have logged in after the first round.
  await endSessions(databases, hostId, role)
  await admin.use(adminTarget(hosts, hostId), (session) =>
    session.query(`set lock_timeout = '500ms'; alter role ${quoteName(role)} nologin`),
  )
  return true
}

/** In steps, each in its own transaction: one that took all the locks of the cluster would harm every account. */
async function handOver({ databases }: KeysContext, account: Account, role: string): Promise<void> {
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  const handOverSome = () =>
    databases.admin.use(target, ({ client }) =>
      onConnection(client, async (tx) => {
        await tx.query(`set local lock_timeout = '500ms'`)
        const { rows } = await tx.query<{ more: boolean }>('select cartage.hand_over_some($1, $2) as more', [
          role,
          account.masterRole,
        ])
        return rows[0]!.more
      }),
    )
  await inSteps(handOverSome)
}

async function dropRole({ databases }: KeysContext, account: Account, role: string): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, account.hostId), async (session) => {
    const drop = `set lock_timeout = '500ms'; drop role ${quoteName(role)}`
    await session.query(drop).catch(async (error) => {
      // Tenants of other databases may have granted it something: roles belong to the whole cluster.
      if (!hasSqlstate(error, sqlstate.dependentObjectsStillExist)) throw error
      await dropOwnedElsewhere(databases, session, [role], account.database)
      await session.query(drop)
    })
  })
}
