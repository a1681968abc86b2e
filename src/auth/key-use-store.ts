import type { Queryable } from '../postgres/transaction.ts'

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
