import type { Account } from '../auth/account.ts'
import { isInTime, readAccount, selectAccounts } from '../auth/account-store.ts'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import type { Control, Queryable } from '../postgres/transaction.ts'
import type { ImportPhase, ImportProgress, ImportRecord, ImportResult } from './import-record.ts'

type ImportRow = Readonly<{
  key_id: number
  source: ImportRecord['source']
  options: ImportRecord['options']
  spool: string | null
  phase: ImportPhase
  progress: ImportProgress | null
  result: ImportResult | null
  attempts: number
}>

export async function insertImport(
  tx: Queryable,
  account: Account,
  id: string,
  { keyId, source, options, spool }: Pick<ImportRecord, 'keyId' | 'source' | 'options' | 'spool'>,
): Promise<void> {
  await tx.query(
    `insert into cartage.imports (user_id, id, key_id, source, options, spool) values ($1, $2, $3, $4, $5, $6)`,
    [account.userId, id, keyId, JSON.stringify(source), JSON.stringify(options), spool],
  )
}

/** An import that has ended before it began: it was never queued. */
export async function insertFailedImport(
  tx: Queryable,
  account: Account,
  id: string,
  definition: unknown,
  { keyId, source, options, result }: Pick<ImportRecord, 'keyId' | 'source' | 'options' | 'result'>,
): Promise<void> {
  await tx.query(
    `insert into cartage.jobs (user_id, host_id, id, is_import, definition, status, finished_at)
     values ($1, $2, $3, true, $4, 'failed', clock_timestamp())`,
    [account.userId, account.hostId, id, JSON.stringify(definition)],
  )
  await tx.query(
    `insert into cartage.imports (user_id, id, key_id, source, options, result) values ($1, $2, $3, $4, $5, $6)`,
    [account.userId, id, keyId, JSON.stringify(source), JSON.stringify(options), JSON.stringify(result)],
  )
}

export async function findImport(
  control: Control,
  { userId }: Pick<Account, 'userId'>,
  id: string,
): Promise<ImportRecord | undefined> {
  const { rows } = await control.query<ImportRow>(
    `select key_id, source, options, spool, phase, progress, result, attempts
     from cartage.imports where user_id = $1 and id = $2`,
    [userId, id],
  )
  return rows[0] && readRecord(rows[0])
}

function readRecord({ key_id: keyId, ...row }: ImportRow): ImportRecord {
  return { keyId, ...row }
}

/** The newest first. `keyId`: of this key only. */
export async function listImports(
  control: Control,
  { userId }: Account,
  keyId: number | undefined,
  isAll: boolean,
): Promise<readonly string[]> {
  const { rows } = await control.query<{ id: string }>(
    `select i.id from cartage.imports i join cartage.jobs j using (user_id, id)
     where i.user_id = $1 and ($2::integer is null or i.key_id = $2)
       and ($3 or j.finished_at is null and j.created_at > clock_timestamp() - interval '24 hours')
       and i.source ->> 'type' <> 'nothing'
     order by j.created_at desc, i.id limit 10000`,
    [userId, keyId ?? null, isAll],
  )
  return rows.map(({ id }) => id)
}

export async function countUnfinished(tx: Queryable, { userId }: Account): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::integer as count from cartage.imports i join cartage.jobs j using (user_id, id)
     where i.user_id = $1 and j.finished_at is null`,
    [userId],
  )
  return rows[0]!.count
}

/** Which of these imports have not ended. */
export async function unfinishedImports(control: Control, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await control.query<{ id: string }>(
    'select id from cartage.jobs where finished_at is null and id = any ($1::uuid[])',
    [ids],
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * The role that runs an import, its account, and when the account's last suspension ended. Undefined: its key was deleted,
 * has expired or may no longer use the SQL API.
 */
export async function importRole(
  control: Control,
  { userId }: Pick<ClaimedJob, 'userId'>,
  keyId: number,
): Promise<Readonly<{ account: Account; role: string; resumedAt: Date | null }> | undefined> {
  const [accounts, keys] = await Promise.all([
    control.query(`${selectAccounts} where u.id = $1 and u.state = 'active'`, [userId]),
    control.query<{ role_name: string }>(
      `select role_name from cartage.api_keys k
       where user_id = $1 and id = $2 and ${isInTime} and (type <> 'regular' or 'sql' = any (apis))`,
      [userId, keyId],
    ),
  ])
  const [account, key] = [accounts.rows[0], keys.rows[0]]
  return (
    account && key && { account: readAccount(account), role: key.role_name, resumedAt: account.resumed_at }
  )
}

/** Begins an attempt of the worker that has the claim, and returns its number. Undefined: it has lost the claim. */
export async function beginAttempt(control: Control, claimed: ClaimedJob): Promise<number | undefined> {
  const { rows } = await control.query<{ attempts: number }>(
    `update cartage.imports i set attempts = i.attempts + 1, phase = 'unpacking', result = null, at_work = $3
     from cartage.jobs j
     where i.user_id = $1 and i.id = $2 and j.user_id = $1 and j.id = $2 and j.claim = $3 returning i.attempts`,
    [claimed.userId, claimed.job.id, claimed.claim],
  )
  return rows[0]?.attempts
}

/** The worker has closed every file and process of the import, whether or not it still has the claim. */
export async function endAttempt(control: Control, { userId, job, claim }: ClaimedJob): Promise<void> {
  await control.query(
    `update cartage.imports set at_work = null where user_id = $1 and id = $2 and at_work = $3`,
    [userId, job.id, claim],
  )
}

/** Whether a worker still has files or processes of it open. */
export async function isAtWork(
  control: Control,
  { userId }: Pick<Account, 'userId'>,
  id: string,
): Promise<boolean> {
  const { rows } = await control.query<{ is_at_work: boolean }>(
    `select at_work is not null as is_at_work from cartage.imports where user_id = $1 and id = $2`,
    [userId, id],
  )
  return rows[0]?.is_at_work ?? false
}

/** The attempt did not fail: its worker stops, or the database was out of reach. */
export async function undoAttempt(
  control: Control,
  { userId }: Pick<ClaimedJob, 'userId'>,
  id: string,
): Promise<void> {
  await control.query(
    `update cartage.imports set attempts = greatest(attempts - 1, 0) where user_id = $1 and id = $2`,
    [userId, id],
  )
}

/** False: the worker has lost the claim. */
export const writeProgress = (
  control: Control,
  claimed: ClaimedJob,
  phase: ImportPhase,
  progress: ImportProgress,
) => writeClaimed(control, claimed, 'phase', phase, progress)

/** The same for the result. */
export const writeResult = (
  control: Control,
  claimed: ClaimedJob,
  result: ImportResult,
  progress: ImportProgress,
) => writeClaimed(control, claimed, 'result', JSON.stringify(result), progress)

async function writeClaimed(
  control: Control,
  { userId, job, claim }: ClaimedJob,
  column: 'phase' | 'result',
  value: string,
  progress: ImportProgress,
): Promise<boolean> {
  const { rowCount } = await control.query(
    `update cartage.imports i set ${column} = $4, progress = $5
     from cartage.jobs j
     where i.user_id = $1 and i.id = $2 and j.user_id = $1 and j.id = $2 and j.claim = $3`,
    [userId, job.id, claim, value, JSON.stringify(progress)],
  )
  return rowCount === 1
}

/** The imports of a user whose results exceed the room for all results. The newest imports get the room first. */
export async function resultsBeyond(control: Control, userId: number, room: KeptRoom): Promise<string[]> {
  const { rows } = await control.query<{ id: string }>(
    `select id from (
       select i.id, pg_column_size(i.result) as bytes,
         sum(pg_column_size(i.result)) over (order by j.created_at desc, i.id) as total
       from cartage.imports i join cartage.jobs j using (user_id, id)
       where i.user_id = $1 and i.result is not null) kept
     where total > $2 and bytes > $3`,
    [userId, room.allBytes, room.smallBytes],
  )
  return rows.map(({ id }) => id)
}

/** On the disk, of one user. `smallBytes`: what is smaller stays. */
export type KeptRoom = Readonly<{ allBytes: number; smallBytes: number }>

export async function replaceResult(
  control: Control,
  userId: number,
  id: string,
  result: ImportResult,
): Promise<void> {
  await control.query('update cartage.imports set result = $3 where user_id = $1 and id = $2', [
    userId,
    id,
    JSON.stringify(result),
  ])
}
