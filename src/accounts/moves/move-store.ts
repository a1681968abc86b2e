import type { ClientBase, QueryResultRow } from 'pg'
import type { Account } from '../../auth/account.ts'
import { readAccount, selectAccounts } from '../../auth/account-store.ts'
import type { MovePhase } from '../../contract/admin-names.ts'
import { hasSqlstate, sqlstate } from '../../postgres/sqlstate.ts'
import type { Queryable } from '../../postgres/transaction.ts'
import { holdJobs } from '../suspension/suspension-store.ts'
import type { Move } from './move.ts'

const selectMoves = `select m.*, u.username, o.name as organization from cartage.moves m
  left join cartage.users u on u.id = m.user_id left join cartage.organizations o on o.id = m.organization_id`

/** The users `u` who move: parameters 1 and 2 are the ids of user and organization, of which one is null. */
const isMember = '(u.id = $1 or u.organization_id = $2)'

const whose = ({ userId, organizationId }: Pick<Move, 'userId' | 'organizationId'>) => [
  userId,
  organizationId,
]

const readMove = (row: QueryResultRow): Move => ({
  id: row.id,
  userId: row.user_id,
  username: row.username,
  organizationId: row.organization_id,
  organization: row.organization,
  fromHostId: row.from_host_id,
  fromHost: row.from_host,
  toHostId: row.to_host_id,
  toHost: row.to_host,
  phase: row.phase,
  progress: row.progress,
  error: row.error,
  createdAt: row.created_at,
  stoppedAt: row.stopped_at,
  servedAt: row.served_at,
  endedAt: row.ended_at,
})

export async function findMove(control: Queryable, id: number): Promise<Move | undefined> {
  const { rows } = await control.query(`${selectMoves} where m.id = $1`, [id])
  return rows[0] && readMove(rows[0])
}

/** Holds its row until the transaction ends: no other changes its phase meanwhile. */
export async function lockMove(tx: ClientBase, id: number): Promise<Move | undefined> {
  await tx.query('select from cartage.moves where id = $1 for update', [id])
  return findMove(tx, id)
}

/** The newest first. */
export async function listMoves(control: Queryable, limit: number): Promise<readonly Move[]> {
  const { rows } = await control.query(`${selectMoves} order by m.id desc limit $1`, [limit])
  return rows.map(readMove)
}

/** The ids of the moves that have not ended, the oldest first. */
export async function unfinishedMoves(control: Queryable): Promise<readonly number[]> {
  const { rows } = await control.query<{ id: number }>(
    'select id from cartage.moves where ended_at is null order by id',
  )
  return rows.map(({ id }) => id)
}

/** The moves from a host that have not ended, the oldest first. */
export async function unfinishedFrom(control: Queryable, hostId: number): Promise<readonly Move[]> {
  const { rows } = await control.query(
    `${selectMoves} where m.from_host_id = $1 and m.ended_at is null order by m.id`,
    [hostId],
  )
  return rows.map(readMove)
}

/** The same to a host. */
export async function unfinishedTo(control: Queryable, hostId: number): Promise<readonly Move[]> {
  const { rows } = await control.query(
    `${selectMoves} where m.to_host_id = $1 and m.ended_at is null order by m.id`,
    [hostId],
  )
  return rows.map(readMove)
}

export type Placed = Readonly<{
  kind: 'user' | 'organization'
  name: string
  database: string
  isActive: boolean
}>

/** The users and organizations on a host that have no move. */
export async function placedOn(control: Queryable, hostId: number): Promise<readonly Placed[]> {
  const { rows } = await control.query<Placed>(
    `select 'user' as kind, u.username as name, d.name as database, u.state = 'active' as "isActive"
     from cartage.users u join cartage.databases d on d.id = u.database_id
     where d.host_id = $1 and u.organization_id is null
       and not exists (select from cartage.moves m where m.user_id = u.id and m.ended_at is null)
     union all
     select 'organization', o.name, d.name, o.state = 'active'
     from cartage.organizations o join cartage.databases d on d.id = o.database_id
     where d.host_id = $1
       and not exists (select from cartage.moves m where m.organization_id = o.id and m.ended_at is null)
     order by name`,
    [hostId],
  )
  return rows
}

/** The accounts that move, also those that are being created or deleted. */
export async function membersOf(control: Queryable, move: Move): Promise<readonly Account[]> {
  const { rows } = await control.query(`${selectAccounts} where ${isMember} order by u.id`, whose(move))
  return rows.map(readAccount)
}

export type NewMove = Pick<Move, 'userId' | 'organizationId' | 'fromHostId' | 'toHostId'>

/** Undefined: the account has a move that has not ended. */
export async function insertMove(tx: ClientBase, move: NewMove): Promise<number | undefined> {
  try {
    const { rows } = await tx.query<{ id: number }>(
      `insert into cartage.moves (user_id, organization_id, from_host_id, from_host, to_host_id, to_host)
       select $1, $2, f.id, f.name, t.id, t.name from cartage.hosts f, cartage.hosts t where f.id = $3 and t.id = $4
       returning id`,
      [...whose(move), move.fromHostId, move.toHostId],
    )
    return rows[0]?.id
  } catch (error) {
    if (hasSqlstate(error, sqlstate.uniqueViolation)) return undefined
    throw error
  }
}

/**
 * Marks all who move. False: one of them is being made or removed, they are not where they were, or the move was
 * cancelled.
 */
export async function markMoving(tx: ClientBase, move: Move, members: readonly Account[]): Promise<boolean> {
  // First: it waits for members that are being added or removed, and the next statement sees them.
  await tx.query('update cartage.organizations set is_moving = true where id = $1', [move.organizationId])
  const { rowCount } = await tx.query(
    `update cartage.users u set is_moving = true, stays_suspended = suspended_at is not null,
       suspended_at = coalesce(suspended_at, now()), suspended_reason = coalesce(suspended_reason, $4), updated_at = now()
     from cartage.databases d
     where ${isMember} and u.state = 'active' and not u.is_moving and d.id = u.database_id and d.host_id = $3`,
    [...whose(move), move.fromHostId, `moves to the host ${move.toHost}`],
  )
  const begun = await tx.query(
    `update cartage.moves set phase = 'stopping', stopped_at = now() where id = $1 and phase = 'waiting'`,
    [move.id],
  )
  const now = await membersOf(tx, move)
  return (
    begun.rowCount === 1 &&
    rowCount === now.length &&
    now.every(({ userId }, at) => userId === members[at]?.userId)
  )
}

/** Serves the accounts again, on the host of their database. False: they are served already, or the move has ended. */
export async function markArrived(tx: ClientBase, move: Move): Promise<boolean> {
  const { rows } = await tx.query<{ id: number; stays: boolean }>(
    `update cartage.users u set is_moving = false, updated_at = now(),
       suspended_at = case when stays_suspended then suspended_at end,
       suspended_reason = case when stays_suspended then suspended_reason end,
       resumed_at = case when stays_suspended then resumed_at else clock_timestamp() end
     where ${isMember} and is_moving and exists (select from cartage.moves where id = $3 and ended_at is null)
     returning id, stays_suspended as stays`,
    [...whose(move), move.id],
  )
  if (rows.length === 0) return false
  for (const { id, stays } of rows) if (!stays) await holdJobs(tx, id, false)
  await tx.query('update cartage.organizations set is_moving = false where id = $1', [move.organizationId])
  await tx.query('update cartage.moves set served_at = clock_timestamp() where id = $1', [move.id])
  return true
}

/** Whether the account is not served because of this move. */
export async function isAway(control: Queryable, move: Move): Promise<boolean> {
  const { rowCount } = await control.query(
    `select from cartage.users u where ${isMember} and u.is_moving
       and exists (select from cartage.moves m where m.id = $3 and m.ended_at is null)`,
    [...whose(move), move.id],
  )
  return rowCount !== 0
}

/**
 * From now on the other host is the one of the account. All jobs go there too. False: the move was given up, or a newer
 * version of the service has migrated the old database meanwhile. Roll back then.
 */
export async function switchHost(
  tx: ClientBase,
  move: Move,
  newestMigration: string | undefined,
): Promise<boolean> {
  // First: from now on a cancellation waits for this transaction, and comes too late.
  const begun = await tx.query(
    `update cartage.moves set phase = 'cleaning', progress = 95 where id = $1 and phase = 'checking'`,
    [move.id],
  )
  if (begun.rowCount !== 1) return false
  const switched = await tx.query(
    `update cartage.databases d set host_id = $4
     where d.host_id = $3 and d.migrated_to is not distinct from $5
       and d.id in (select u.database_id from cartage.users u where ${isMember} and u.is_moving)`,
    [...whose(move), move.fromHostId, move.toHostId, newestMigration],
  )
  await tx.query(
    `delete from cartage.replica_fences where host_id = $3
       and database_id in (select u.database_id from cartage.users u where ${isMember})`,
    [...whose(move), move.fromHostId],
  )
  for (const table of ['job_queues', 'jobs'])
    await tx.query(
      `update cartage.${table} set host_id = $3 where user_id in (select u.id from cartage.users u where ${isMember})`,
      [...whose(move), move.toHostId],
    )
  return switched.rowCount === 1
}

/** Only forwards, and only as long as no one has undone the move. */
export async function enterPhase(
  control: Queryable,
  id: number,
  phase: 'copying' | 'checking',
): Promise<boolean> {
  const { rowCount } = await control.query(
    `update cartage.moves set phase = $2 where id = $1 and phase in ('stopping', 'copying')`,
    [id, phase],
  )
  return rowCount === 1
}

export async function recordProgress(control: Queryable, id: number, percent: number): Promise<void> {
  await control.query('update cartage.moves set progress = $2 where id = $1 and progress < $2', [id, percent])
}

/**
 * Gives a move up, unless the account is on the other host already. Waits for a transaction that is about to switch: its
 * commit may have been sent, and the answer lost.
 */
export async function giveUp(control: Queryable, id: number, error: string): Promise<boolean> {
  const { rowCount } = await control.query(
    `update cartage.moves set phase = 'undoing', error = coalesce(error, $2)
     where id = $1 and phase in ('waiting', 'stopping', 'copying', 'checking', 'undoing')`,
    [id, error],
  )
  return rowCount === 1
}

/** Ends a move that has not begun. False: it has. */
export async function endWaiting(control: Queryable, id: number, error: string): Promise<boolean> {
  const { rowCount } = await control.query(
    `update cartage.moves set phase = 'failed', error = $2, ended_at = clock_timestamp() where id = $1 and phase = 'waiting'`,
    [id, error],
  )
  return rowCount === 1
}

/** Whether the move was given up meanwhile. */
export async function isGivenUp(control: Queryable, id: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `select from cartage.moves where id = $1 and phase in ('undoing', 'failed')`,
    [id],
  )
  return rowCount !== 0
}

export async function endMove(
  control: Queryable,
  id: number,
  phase: Extract<MovePhase, 'done' | 'failed'>,
): Promise<void> {
  await control.query(
    `update cartage.moves set phase = $2, ended_at = clock_timestamp(),
       progress = case when $2 = 'done' then 100 else progress end
     where id = $1`,
    [id, phase],
  )
}

/** Where the account is. Ask before dropping anything of it on a host. */
export async function hostOfMoved(control: Queryable, move: Move): Promise<number | undefined> {
  const { rows } = await control.query<{ host_id: number }>(
    `select d.host_id from cartage.users u join cartage.databases d on d.id = u.database_id where ${isMember} limit 1`,
    whose(move),
  )
  return rows[0]?.host_id
}

/** Whether the database of the account has the newest migration. */
export async function isMigrated(
  control: Queryable,
  move: Move,
  newest: string | undefined,
): Promise<boolean> {
  const { rowCount } = await control.query(
    `select from cartage.users u join cartage.databases d on d.id = u.database_id
     where ${isMember} and d.migrated_to is not distinct from $3 limit 1`,
    [...whose(move), newest],
  )
  return rowCount === 1
}

/** A move of the user or its organization has begun and not ended: there is something of it on two hosts. */
export async function isOnItsWay(
  control: Queryable,
  userId: number | null,
  organizationId: number | null,
): Promise<boolean> {
  const { rowCount } = await control.query(
    `select from cartage.moves where (user_id = $1 or organization_id = $2) and ended_at is null and phase <> 'waiting'`,
    [userId, organizationId],
  )
  return rowCount !== 0
}
