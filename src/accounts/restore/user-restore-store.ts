import type { ClientBase, QueryResultRow } from 'pg'
import type { RestorePhase } from '../../contract/admin-names.ts'
import { advisoryLocks } from '../../postgres/advisory-locks.ts'
import type { Queryable } from '../../postgres/transaction.ts'

/** A user that the service restores from a backup, or has restored. */
export type UserRestore = Readonly<{
  id: number
  file: string
  backupOf: Date
  username: string
  restoredAs: string
  phase: RestorePhase
  /** In percent. */
  progress: number
  error: string | null
  keys: readonly string[]
  createdAt: Date
  endedAt: Date | null
}>

const readRestore = (row: QueryResultRow): UserRestore => ({
  id: row.id,
  file: row.file,
  backupOf: row.backup_of,
  username: row.username,
  restoredAs: row.restored_as,
  phase: row.phase,
  progress: row.progress,
  error: row.error,
  keys: row.keys,
  createdAt: row.created_at,
  endedAt: row.ended_at,
})

export type DraftRestore = Pick<UserRestore, 'file' | 'username' | 'restoredAs'> &
  Readonly<{ backupOf: string }>

export async function insertRestore(tx: ClientBase, restore: DraftRestore): Promise<UserRestore> {
  const { rows } = await tx.query(
    'insert into cartage.restores (file, backup_of, username, restored_as) values ($1, $2, $3, $4) returning *',
    [restore.file, restore.backupOf, restore.username, restore.restoredAs],
  )
  return readRestore(rows[0]!)
}

/** On this session, until it ends. False: another process works on it. */
export async function lockRestore(client: ClientBase, id: number): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(
    'select pg_catalog.pg_try_advisory_lock($1, $2) as held',
    [advisoryLocks.restore, id],
  )
  return rows[0]!.held
}

export async function findRestore(control: Queryable, id: number): Promise<UserRestore | undefined> {
  const { rows } = await control.query('select * from cartage.restores where id = $1', [id])
  return rows[0] && readRestore(rows[0])
}

/** The newest first. */
export async function listRestores(control: Queryable, limit: number): Promise<readonly UserRestore[]> {
  const { rows } = await control.query('select * from cartage.restores order by id desc limit $1', [limit])
  return rows.map(readRestore)
}

export async function unfinishedRestores(control: Queryable): Promise<readonly number[]> {
  const { rows } = await control.query<{ id: number }>(
    'select id from cartage.restores where ended_at is null order by id',
  )
  return rows.map(({ id }) => id)
}

/** False: it was cancelled. */
export async function beginCopy(control: Queryable, id: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `update cartage.restores set phase = 'copying' where id = $1 and phase = 'unpacking'`,
    [id],
  )
  return rowCount === 1
}

export async function noteProgress(control: Queryable, id: number, percent: number): Promise<void> {
  await control.query(
    `update cartage.restores set progress = $2 where id = $1 and phase = 'copying' and progress < $2`,
    [id, percent],
  )
}

/** In the transaction that makes the user visible: from then on it cannot be cancelled. False: it was. */
export async function beginOpening(tx: ClientBase, id: number, keys: readonly string[]): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.restores set phase = 'opening', progress = 99, keys = $2 where id = $1 and phase = 'copying'`,
    [id, keys],
  )
  return rowCount === 1
}

/** False: its user is made already, or it has ended. */
export async function giveUpRestore(control: Queryable, id: number, error: string): Promise<boolean> {
  const { rowCount } = await control.query(
    `update cartage.restores set phase = 'undoing', error = coalesce(error, $2)
     where id = $1 and phase in ('unpacking', 'copying', 'undoing')`,
    [id, error],
  )
  return rowCount === 1
}

export async function isRestoreGivenUp(control: Queryable, id: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `select from cartage.restores where id = $1 and phase = 'undoing'`,
    [id],
  )
  return rowCount === 1
}

/** Done if its user was made, else failed for this reason, unless it has another. */
export async function endRestore(control: Queryable, id: number, error: string): Promise<void> {
  await control.query(
    `update cartage.restores set ended_at = clock_timestamp(),
       phase = case phase when 'opening' then 'done' else 'failed' end,
       progress = case phase when 'opening' then 100 else progress end,
       error = case phase when 'opening' then null else coalesce(error, $2) end
     where id = $1 and ended_at is null`,
    [id, error],
  )
}
