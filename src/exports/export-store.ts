import type { Account, CallerKey, Holder } from '../auth/account.ts'
import { isInTime, msLeft, readCallerKey } from '../auth/account-store.ts'
import type { SqlFormat } from '../contract/formats.ts'
import type { Control } from '../postgres/transaction.ts'

/** What a link gives. */
export type ExportedQuery = Readonly<{ query: string; format: SqlFormat; filename: string | undefined }>

export type ExportRecord = Readonly<{
  id: string
  query: string
  format: SqlFormat
  filename: string | null
  key: string
  downloads: number
  max_downloads: number | null
  created_at: Date
  expires_at: Date
}>

export type NewExport = ExportedQuery &
  Readonly<{ secretHash: Buffer; seconds: number; maxDownloads: number | undefined }>

/** Undefined if the user has too many. Removes those that have expired. */
export async function insertExport(
  control: Control,
  { account, key }: Holder,
  { secretHash, query, format, filename, seconds, maxDownloads }: NewExport,
): Promise<Readonly<{ id: string; expires_at: Date }> | undefined> {
  await control.query('delete from cartage.exports where user_id = $1 and expires_at <= clock_timestamp()', [
    account.userId,
  ])
  const { rows } = await control.query<{ id: string; expires_at: Date }>(
    `insert into cartage.exports (user_id, key_id, key_hash, secret_hash, query, format, filename, max_downloads, expires_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + make_interval(secs => $9)
     where (select count(*) from cartage.exports where user_id = $1) < $10
     returning id, expires_at`,
    [
      account.userId,
      key.id,
      key.tokenHash,
      secretHash,
      query,
      format,
      filename ?? null,
      maxDownloads ?? null,
      seconds,
      mostExports,
    ],
  )
  return rows[0]
}

/** Links of one user. */
export const mostExports = 1_000

/** Condition on `cartage.api_keys k`: the key has not expired, and has the SQL API. */
const mayRead = `${isInTime} and (k.type <> 'regular' or 'sql' = any (k.apis))`

/** The newest first. `keyId`: only those of this key. */
export async function listExports(
  control: Control,
  { userId }: Account,
  keyId: number | undefined,
): Promise<readonly ExportRecord[]> {
  const { rows } = await control.query<ExportRecord>(
    `select e.id, e.query, e.format, e.filename, k.name as key, e.downloads, e.max_downloads, e.created_at, e.expires_at
     from cartage.exports e join cartage.api_keys k on k.id = e.key_id and k.token_hash = e.key_hash and ${mayRead}
     where e.user_id = $1 and ($2::integer is null or e.key_id = $2) and e.expires_at > clock_timestamp()
     order by e.created_at desc, e.id`,
    [userId, keyId ?? null],
  )
  return rows
}

/** False if there is none. */
export async function deleteExport(
  control: Control,
  { userId }: Account,
  keyId: number | undefined,
  id: string,
): Promise<boolean> {
  const { rowCount } = await control.query(
    'delete from cartage.exports where user_id = $1 and id = $2 and ($3::integer is null or key_id = $3)',
    [userId, id, keyId ?? null],
  )
  return rowCount === 1
}

/** Counts a download and returns what it gives, and the key that it runs as. Undefined: the link does not work, or no longer. */
export async function takeDownload(
  control: Control,
  { userId }: Account,
  id: string,
  secretHash: Buffer,
): Promise<(ExportedQuery & Readonly<{ key: CallerKey }>) | undefined> {
  const askedAt = performance.now()
  const { rows } = await control.query(
    `with taken as (
       update cartage.exports set downloads = downloads + 1
       where user_id = $1 and id = $2 and secret_hash = $3 and expires_at > clock_timestamp()
         and (max_downloads is null or downloads < max_downloads)
         and exists (select from cartage.api_keys k where k.id = key_id and k.token_hash = key_hash and ${mayRead})
       returning key_id, query, format, filename
     )
     select k.*, ${msLeft} as ms_left, taken.query as exported_query, taken.format as exported_format, taken.filename as exported_name
     from taken join cartage.api_keys k on k.id = taken.key_id`,
    [userId, id, secretHash],
  )
  const [row] = rows
  if (!row) return undefined
  const filename = row.exported_name ?? undefined
  return {
    key: readCallerKey(row, askedAt),
    query: row.exported_query,
    format: row.exported_format,
    filename,
  }
}

/** A download that has given nothing does not count. */
export async function returnDownload(control: Control, id: string): Promise<void> {
  await control.query(
    'update cartage.exports set downloads = downloads - 1 where id = $1 and downloads > 0',
    [id],
  )
}
