import type { Account } from '../auth/account.ts'
import type { Control } from '../postgres/transaction.ts'

/** `revision`: of the template that it was made of; null: of none. */
export type StoredMap = Readonly<{
  id: string
  config: string
  aggregated: readonly boolean[]
  revision: string | null
}>

/** Keeps a map for a day after its last use. Of too many the oldest go, those made without a key first. */
export async function saveMap(
  control: Control,
  { userId }: Account,
  { id, config, aggregated, revision }: StoredMap,
  isPublic: boolean,
): Promise<void> {
  const { rows } = await control.query<{ is_new: boolean }>(
    `insert into cartage.maps as m (user_id, id, config, aggregated, is_public, revision) values ($1, $2, $3, $4, $5, $6)
     on conflict (user_id, id) do update set aggregated = excluded.aggregated,
       is_public = m.is_public and excluded.is_public, used_at = clock_timestamp()
     returning xmax = 0 as is_new`,
    [userId, id, config, aggregated, isPublic, revision],
  )
  if (!rows[0]!.is_new) return
  await control.query(
    `delete from cartage.maps where user_id = $1 and (used_at <= clock_timestamp() - interval '24 hours' or id in (
       select id from cartage.maps where user_id = $1 order by is_public, used_at desc offset $2))`,
    [userId, mostMaps],
  )
}

/** Maps of one user. */
export const mostMaps = 10_000

/** Undefined if there is none, or it was not used for a day. */
export async function findMap(
  control: Control,
  { userId }: Account,
  id: string,
): Promise<StoredMap | undefined> {
  const { rows } = await control.query<StoredMap & { is_old: boolean }>(
    `select id, config, aggregated, revision, used_at < clock_timestamp() - interval '1 hour' as is_old from cartage.maps
     where user_id = $1 and id = $2 and used_at > clock_timestamp() - interval '24 hours'`,
    [userId, id],
  )
  const [row] = rows
  if (!row) return undefined
  const { is_old: isOld, ...map } = row
  if (isOld)
    await control.query(
      `update cartage.maps set used_at = clock_timestamp()
       where user_id = $1 and id = $2 and used_at < clock_timestamp() - interval '1 hour'`,
      [userId, id],
    )
  return map
}

/** Deletes the expired maps of all users. */
export async function deleteExpiredMaps(control: Control): Promise<void> {
  await control.query("delete from cartage.maps where used_at <= clock_timestamp() - interval '24 hours'")
}
