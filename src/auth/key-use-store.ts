import type { Queryable } from '../postgres/transaction.ts'

/** Removes the uses of keys that were deleted. */
export async function removeOrphanUses(control: Queryable): Promise<void> {
  await control.query(
    `delete from cartage.key_uses where key_id in (
       select key_id from cartage.key_uses use
       where not exists (select from cartage.api_keys k where k.id = use.key_id) for update skip locked)`,
  )
}

export type KeyUse = Readonly<{ keyId: number; agoMs: number }>

/** One statement for all. By the clock of the database; a later use that another process has stored stays. */
export async function writeKeyUses(control: Queryable, uses: readonly KeyUse[]): Promise<void> {
  await control.query(
    `insert into cartage.key_uses as known (key_id, last_used_at)
     select k.id, clock_timestamp() - use.ago_ms * interval '1 millisecond'
     from unnest($1::integer[], $2::float8[]) as use (key_id, ago_ms)
     join cartage.api_keys k on k.id = use.key_id order by k.id
     on conflict (key_id) do update set last_used_at = excluded.last_used_at
     where known.last_used_at < excluded.last_used_at`,
    [uses.map(({ keyId }) => keyId), uses.map(({ agoMs }) => agoMs)],
  )
}
