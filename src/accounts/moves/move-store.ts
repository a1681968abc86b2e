import type { ClientBase, QueryResultRow } from 'pg'
import type { MovePhase } from '../../contract/admin-names.ts'
import { hasSqlstate, sqlstate } from '../../postgres/sqlstate.ts'
import type { Queryable } from '../../postgres/transaction.ts'
import type { Move } from './move.ts'

const selectMoves = 'select m.*, u.username from cartage.moves m join cartage.users u on u.id = m.user_id'

const readMove = (row: QueryResultRow): Move => ({
  id: row.id,
  userId: row.user_id,
  username: row.username,
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

export type NewMove = Pick<Move, 'userId' | 'fromHostId' | 'toHostId'>

/** Undefined: the user has a move that has not ended. */
export async function insertMove(tx: ClientBase, move: NewMove): Promise<number | undefined> {
  try {
    const { rows } = await tx.query<{ id: number }>(
      `insert into cartage.moves (user_id, from_host_id, from_host, to_host_id, to_host)
       select $1, f.id, f.name, t.id, t.name from cartage.hosts f, cartage.hosts t where f.id = $2 and t.id = $3
       returning id`,
      [move.userId, move.fromHostId, move.toHostId],
    )
    return rows[0]?.id
  } catch (error) {
    if (hasSqlstate(error, sqlstate.uniqueViolation)) return undefined
    throw error
  }
}

/** Marks the user. False: it is suspended, on another host, being removed, or gone. */
export async function markMoving(tx: ClientBase, { id, userId, fromHostId, toHost }: Move): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.users u set is_moving = true, suspended_at = now(), suspended_reason = $3, updated_at = now()
     from cartage.databases d
     where u.id = $1 and u.state = 'active' and u.suspended_at is null and d.id = u.database_id and d.host_id = $2`,
    [userId, fromHostId, `moves to the host ${toHost}`],
  )
  await tx.query(`update cartage.moves set phase = 'stopping', stopped_at = now() where id = $1`, [id])
  return rowCount === 1
}

/** The user is served again, where its row says. False: it was before, or the move has ended. */
export async function markArrived(tx: ClientBase, { id, userId }: Move): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.users set is_moving = false, suspended_at = null, suspended_reason = null, updated_at = now(),
       resumed_at = clock_timestamp()
     where id = $1 and is_moving and exists (select from cartage.moves where id = $2 and ended_at is null)`,
    [userId, id],
  )
  if (rowCount === 0) return false
  await tx.query('update cartage.moves set served_at = clock_timestamp() where id = $1', [id])
  return true
}

/** Whether the user is not served because of this move. */
export async function isAway(control: Queryable, { id, userId }: Move): Promise<boolean> {
  const { rowCount } = await control.query(
    `select from cartage.users u join cartage.moves m on m.user_id = u.id
     where u.id = $1 and u.is_moving and m.id = $2 and m.ended_at is null`,
    [userId, id],
  )
  return rowCount === 1
}

/**
 * From now on the other host is the one of the user. All of its jobs go there too. False: the move was given up, or a newer
 * version of the service has migrated the old database meanwhile.
 */
export async function switchHost(
  tx: ClientBase,
  { id, userId, fromHostId, toHostId }: Move,
  newestMigration: string | undefined,
): Promise<boolean> {
  const switched = await tx.query(
    `update cartage.databases d set host_id = $3
     from cartage.users u, cartage.moves m
     where u.id = $1 and u.is_moving and u.organization_id is null and d.id = u.database_id and d.host_id = $2
       and m.id = $4 and m.phase = 'checking' and d.migrated_to is not distinct from $5`,
    [userId, fromHostId, toHostId, id, newestMigration],
  )
  await tx.query('update cartage.job_queues set host_id = $2 where user_id = $1', [userId, toHostId])
  await tx.query('update cartage.jobs set host_id = $2 where user_id = $1', [userId, toHostId])
  await tx.query(`update cartage.moves set phase = 'cleaning', progress = 95 where id = $1`, [id])
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
 * Gives a move up, unless the user is on the other host already. Waits for a transaction that is about to switch: its
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

/** Where the user is. Ask before dropping anything of it on a host. */
export async function hostOfUser(control: Queryable, userId: number): Promise<number | undefined> {
  const { rows } = await control.query<{ host_id: number }>(
    `select d.host_id from cartage.users u join cartage.databases d on d.id = u.database_id where u.id = $1`,
    [userId],
  )
  return rows[0]?.host_id
}

/** Whether the database of the user has the newest migration. */
export async function isMigrated(
  control: Queryable,
  userId: number,
  newest: string | undefined,
): Promise<boolean> {
  const { rowCount } = await control.query(
    `select from cartage.users u join cartage.databases d on d.id = u.database_id
     where u.id = $1 and d.migrated_to is not distinct from $2`,
    [userId, newest],
  )
  return rowCount === 1
}

/** A move of the user has begun and not ended: there is something of it on two hosts. */
export async function isOnItsWay(control: Queryable, userId: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `select from cartage.moves where user_id = $1 and ended_at is null and phase <> 'waiting'`,
    [userId],
  )
  return rowCount !== 0
}
