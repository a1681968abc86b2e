import type { Pool } from 'pg'
import type { Account, Holder } from '../../auth/account.ts'
import type { CopyAnswer } from '../../contract/documents.ts'
import type { Flight } from '../../jobs/job-store.ts'
import { lockQueue } from '../../jobs/queue-store.ts'
import { type Control, inTransaction, type Queryable } from '../../postgres/transaction.ts'
import type { KeptRoom } from '../import-store.ts'

/** The transaction that loads the rows of an upload, and the host that knows its outcome. */
export type LoadFlight = Flight & Readonly<{ hostId: number }>

/** Why the rows of an upload were not stored, as it was answered. */
export type UploadRefusal = Readonly<{ status: number; code: string; error: readonly string[] }> &
  Readonly<Record<string, unknown>>

/** A resumable upload. See the migrations for its states. */
export type UploadRecord = Readonly<{
  id: string
  spool: string
  length: number
  received: number
  metadata: string
  state: 'open' | 'loading' | 'done'
  answer: CopyAnswer | null
  flight: LoadFlight | null
  refusal: UploadRefusal | null
  isLocked: boolean
  expiresAt: Date
}>

export type NewUpload = Pick<UploadRecord, 'id' | 'spool' | 'length' | 'metadata'>

/** What the user's unfinished uploads may be together. */
export type UploadLimits = Readonly<{ count: number; bytes: number }>

/** A refusal names the limit. */
export type MadeUpload = Readonly<
  { expiresAt: Date } | { beyond: 'count' } | { beyond: 'bytes'; left: number }
>

export async function insertUpload(
  control: Pool,
  { account, key }: Holder,
  { id, spool, length, metadata }: NewUpload,
  limits: UploadLimits,
): Promise<MadeUpload> {
  return inTransaction(control, async (tx) => {
    await lockQueue(tx, account)
    const { count, bytes } = await unfinishedUploads(tx, account)
    if (count >= limits.count) return { beyond: 'count' }
    if (bytes + length > limits.bytes) return { beyond: 'bytes', left: Math.max(0, limits.bytes - bytes) }
    const { rows } = await tx.query<{ expires_at: Date }>(
      `insert into cartage.uploads (id, user_id, key_id, spool, length, metadata, expires_at)
       values ($1, $2, $3, $4, $5, $6, clock_timestamp() + interval '${lifetime}') returning expires_at`,
      [id, account.userId, key.id, spool, length, metadata],
    )
    return { expiresAt: rows[0]!.expires_at }
  })
}

const lifetime = '1 day'

async function unfinishedUploads(
  tx: Queryable,
  { userId }: Account,
): Promise<Readonly<{ count: number; bytes: number }>> {
  const { rows } = await tx.query<{ count: number; bytes: string }>(
    `select count(*)::integer as count, coalesce(sum(length), 0) as bytes from cartage.uploads
     where user_id = $1 and state <> 'done' and expires_at > clock_timestamp()`,
    [userId],
  )
  return { count: rows[0]!.count, bytes: Number(rows[0]!.bytes) }
}

/** Finds only uploads of this key. */
export async function findUpload(
  control: Control,
  { account, key }: Holder,
  id: string,
): Promise<UploadRecord | undefined> {
  const { rows } = await control.query<UploadRow>(
    `select ${columns} from cartage.uploads
     where id = $1 and user_id = $2 and key_id = $3 and expires_at > clock_timestamp()`,
    [id, account.userId, key.id],
  )
  return rows[0] && readRecord(rows[0])
}

type UploadRow = Omit<UploadRecord, 'length' | 'received' | 'expiresAt'> &
  Readonly<{ length: string; received: string; expires_at: Date }>

const columns = `id, spool, length, received, metadata, state, answer, flight, refusal, expires_at,
  coalesce(locked_until > clock_timestamp(), false) as "isLocked"`

function readRecord({ length, received, expires_at: expiresAt, ...row }: UploadRow): UploadRecord {
  return { ...row, length: Number(length), received: Number(received), expiresAt }
}

/** Undefined: another request has the lock, and is asked to end, or the upload is gone. */
export async function lockUpload(
  control: Control,
  id: string,
  lock: string,
): Promise<UploadRecord | undefined> {
  return takeLock(control, id, lock, { evenOfLoad: false })
}

/** As `lockUpload`, and takes it from a request that loads the rows: that load must be ended then. */
export async function lockToCancel(
  control: Control,
  id: string,
  lock: string,
): Promise<UploadRecord | undefined> {
  return takeLock(control, id, lock, { evenOfLoad: true })
}

async function takeLock(
  control: Control,
  id: string,
  lock: string,
  { evenOfLoad }: Readonly<{ evenOfLoad: boolean }>,
): Promise<UploadRecord | undefined> {
  const { rows } = await control.query<UploadRow>(
    `update cartage.uploads
     set lock = $2, locked_until = clock_timestamp() + ${lockTime}, is_wanted = false, is_cancelled = $3
     where id = $1 and (lock is null or locked_until < clock_timestamp() or ($3 and state = 'loading'))
     returning ${columns}`,
    [id, lock, evenOfLoad],
  )
  if (rows[0]) return readRecord(rows[0])
  await control.query('update cartage.uploads set is_wanted = true where id = $1 and lock is not null', [id])
  return undefined
}

/** A DELETE has ended its load. */
export async function isCancelled(control: Control, id: string): Promise<boolean> {
  const { rows } = await control.query('select from cartage.uploads where id = $1 and not is_cancelled', [id])
  return rows.length === 0
}

/** A lock that was not renewed for so long is free. */
const lockTime = `interval '15 s'`
/** A request that cannot renew its lock stops before others may take it. */
export const renewedWithinMs = 10_000

/** `lost`: another request has the lock. */
export async function renewLock(
  control: Control,
  id: string,
  lock: string,
  received: number,
): Promise<'held' | 'wanted' | 'lost'> {
  const { rows } = await control.query<{ is_wanted: boolean }>(
    `update cartage.uploads set locked_until = clock_timestamp() + ${lockTime}, received = greatest(received, $3)
     where id = $1 and lock = $2 returning is_wanted`,
    [id, lock, received],
  )
  if (!rows[0]) return 'lost'
  return rows[0].is_wanted ? 'wanted' : 'held'
}

export async function unlockUpload(
  control: Control,
  id: string,
  lock: string,
  received: number,
): Promise<void> {
  await control.query(
    `update cartage.uploads set lock = null, locked_until = null, received = greatest(received, $3)
     where id = $1 and lock = $2`,
    [id, lock, received],
  )
}

/** The transaction is begun, and nothing is sent yet. False: the lock was lost. */
export async function beginLoad(
  control: Control,
  id: string,
  lock: string,
  flight: LoadFlight,
): Promise<boolean> {
  return isWritten(
    control.query(
      `update cartage.uploads set state = 'loading', flight = $3, refusal = null, answer = null,
         received = greatest(received, length - 1)
       where id = $1 and lock = $2`,
      [id, lock, JSON.stringify(flight)],
    ),
  )
}

/** The rows are sent, and not committed yet. False: the lock was lost. */
export async function keepAnswer(
  control: Control,
  id: string,
  lock: string,
  answer: CopyAnswer,
): Promise<boolean> {
  return isWritten(
    control.query('update cartage.uploads set answer = $3 where id = $1 and lock = $2', [
      id,
      lock,
      JSON.stringify(answer),
    ]),
  )
}

/** Nothing was stored: it may be tried again. False: the lock was lost. */
export async function refuseLoad(
  control: Control,
  id: string,
  lock: string,
  refusal: UploadRefusal,
): Promise<boolean> {
  return isWritten(
    control.query(
      `update cartage.uploads set state = 'open', answer = null, refusal = $3 where id = $1 and lock = $2`,
      [id, lock, JSON.stringify(refusal)],
    ),
  )
}

const isWritten = async (written: Promise<{ rowCount: number | null }>) => (await written).rowCount === 1

/** The upload has become an import, or rows. The answer stays for a request that is sent again. */
export async function finishUpload(control: Control, id: string, lock: string): Promise<void> {
  await control.query(
    `update cartage.uploads set state = 'done', received = length, refusal = null, lock = null, locked_until = null
     where id = $1 and lock = $2`,
    [id, lock],
  )
}

/**
 * Of the finished uploads of the user who made this one, older answers beyond the room lose their lists of rejected rows; the
 * number of rows stays. The list is the last member of an answer. As text, because PostgreSQL does not read JSON that has a NUL.
 */
export async function boundAnswers(control: Control, id: string, room: KeptRoom): Promise<void> {
  await control.query(
    `update cartage.uploads u
     set answer = (left(answer::text, position('"rejected":[' in answer::text) - 1) || '"rejected":[]}')::json
     from (
       select id, pg_column_size(answer) as bytes, sum(pg_column_size(answer)) over (order by created_at desc, id) as total
       from cartage.uploads
       where user_id = (select user_id from cartage.uploads where id = $1) and state = 'done' and answer is not null) kept
     where u.id = kept.id and kept.total > $2 and kept.bytes > $3`,
    [id, room.allBytes, room.smallBytes],
  )
}

export async function deleteUpload(control: Control, id: string): Promise<void> {
  await control.query('delete from cartage.uploads where id = $1', [id])
}

/** Deletes expired uploads, except those that a request writes to. */
export async function deleteExpiredUploads(control: Control): Promise<void> {
  await control.query(
    `delete from cartage.uploads
     where expires_at < clock_timestamp() and (lock is null or locked_until < clock_timestamp())`,
  )
}

/** Which of these uploads still need their file. */
export async function keptUploads(control: Control, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await control.query<{ id: string }>(
    `select id from cartage.uploads where state <> 'done' and id = any ($1::uuid[])`,
    [ids],
  )
  return new Set(rows.map(({ id }) => id))
}
