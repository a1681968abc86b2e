import type { ClientBase, QueryResultRow } from 'pg'
import type { Account } from '../auth/account.ts'
import { readAccount, selectAccounts, userByName } from '../auth/account-store.ts'
import { type AppError, errors } from '../errors.ts'
import { deleteDatabaseRow, insertDatabase } from '../hosts/database-store.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { masterRoleName, publicRoleName } from '../postgres/tenant-names.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { GivenLimits } from './limits/check-limits.ts'
import { mergedLimits } from './limits/plan-store.ts'

export type DraftUser = Readonly<{
  id: number
  username: string
  namespace: string
  organizationId: number | null
  orgRole: Account['orgRole']
  databaseId: number | null
  schema: string
  hostId: number
  quotaBytes: number
}>

/** Reserves the name and inserts the user in state `creating`. From here on, repair finds the user by its row. */
export async function insertDraftUser(tx: ClientBase, draft: DraftUser): Promise<Account> {
  await reserveName(tx, draft.username)
  const role = masterRoleName(draft.namespace, draft.id)
  const databaseId = draft.databaseId ?? (await insertDatabase(tx, draft.hostId, role))
  await tx.query(
    `insert into cartage.users
       (id, username, organization_id, org_role, database_id, schema_name, master_role, public_role, quota_in_bytes)
     overriding system value values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      draft.id,
      draft.username,
      draft.organizationId,
      draft.orgRole,
      databaseId,
      draft.schema,
      role,
      publicRoleName(role),
      draft.quotaBytes,
    ],
  )
  const { rows } = await tx.query(`${selectAccounts} where u.id = $1`, [draft.id])
  return readAccount(rows[0]!)
}

export async function reserveName(tx: ClientBase, name: string): Promise<void> {
  await tx.query('insert into cartage.account_names values ($1)', [name]).catch((error) => {
    throw hasSqlstate(error, sqlstate.uniqueViolation) ? errors.accountTaken(name) : error
  })
}

/** By a user or an organization, also one that is being made or removed. */
export async function isNameTaken(control: Queryable, name: string): Promise<boolean> {
  const { rowCount } = await control.query('select from cartage.account_names where name = $1', [name])
  return rowCount !== 0
}

export type UserState = 'creating' | 'active' | 'deleting'

export async function setUserState(tx: Queryable, userId: number, state: UserState): Promise<void> {
  await tx.query('update cartage.users set state = $2, updated_at = now() where id = $1', [userId, state])
}

/**
 * Closes a half-made user. Waits for a transaction that is about to make it active: its commit may have been sent, and
 * the answer lost. False: the user is active.
 */
export async function closeDraftUser(control: Queryable, userId: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `update cartage.users set state = 'deleting', updated_at = now() where id = $1 and state <> 'active'`,
    [userId],
  )
  // Gone: repair has removed it.
  return rowCount === 1 || (await userState(control, userId)) !== 'active'
}

/** Call under the user's lock: an earlier read may be outdated. Undefined: the user is gone. */
export async function userState(control: Queryable, userId: number): Promise<UserState | undefined> {
  const { rows } = await control.query<{ state: UserState }>(
    'select state from cartage.users where id = $1',
    [userId],
  )
  return rows[0]?.state
}

export type UserColumns = Readonly<{
  quotaBytes?: number | undefined
  /** Null is the default of the installation. */
  apiKeyQuota?: number | null | undefined
  orgRole?: Account['orgRole'] | undefined
  /** Merged with those that the user has. */
  limits?: GivenLimits | undefined
  /** Null is none. */
  plan?: string | null | undefined
}>

/** Changes only what is given. False: the user is being removed, or gone. */
export async function updateUserRow(tx: ClientBase, userId: number, changes: UserColumns): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.users set
       quota_in_bytes = coalesce($2, quota_in_bytes),
       api_key_quota = case when $3 then $4 else api_key_quota end,
       org_role = coalesce($5, org_role),
       limits = ${mergedLimits('limits', '$6')},
       plan = case when $7 then $8 else plan end,
       updated_at = now()
     where id = $1 and state = 'active' and not is_moving`,
    [
      userId,
      changes.quotaBytes ?? null,
      changes.apiKeyQuota !== undefined,
      changes.apiKeyQuota ?? null,
      changes.orgRole ?? null,
      changes.limits === undefined ? null : JSON.stringify(changes.limits),
      changes.plan !== undefined,
      changes.plan ?? null,
    ],
  )
  return rowCount === 1
}

/** After a change that met no row: the user has begun to move since it was read, or is gone. */
export async function whyNotChanged(tx: ClientBase, username: string): Promise<AppError> {
  const account = await userByName(tx, username)
  return account?.isMoving ? errors.accountBusy(username) : errors.accountNotFound('User', username)
}

/** Deletes the user, its keys, jobs and name, and its database unless it is an organization's. */
export async function deleteUserRow(tx: ClientBase, account: Account): Promise<void> {
  const { rows } = await tx.query('delete from cartage.users where id = $1 returning database_id', [
    account.userId,
  ])
  await tx.query('delete from cartage.account_names where name = $1', [account.username])
  if (!account.organization && rows[0]) await deleteDatabaseRow(tx, rows[0].database_id)
}

export async function listAccounts(control: Queryable): Promise<readonly Account[]> {
  const { rows } = await control.query(`${selectAccounts} where u.state = 'active' order by u.username`)
  return rows.map(readAccount)
}

/** The user in any state, for creation and removal. */
export async function findAnyUser(
  control: Queryable,
  username: string,
): Promise<{ account: Account; state: UserState } | undefined> {
  const { rows } = await control.query(`${selectAccounts} where u.username = $1`, [username])
  return rows[0] && readAnyUser(rows[0])
}

/** Except those of an unfinished organization: they are removed with it. */
export async function listUnfinishedUsers(
  control: Queryable,
): Promise<readonly { account: Account; state: UserState }[]> {
  const { rows } = await control.query(
    `${selectAccounts} where u.state <> 'active' and (o.state is null or o.state = 'active')`,
  )
  return rows.map(readAnyUser)
}

const readAnyUser = (row: QueryResultRow) => ({ account: readAccount(row), state: row.state as UserState })
