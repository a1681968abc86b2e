import type { Pool } from 'pg'
import type { Holder } from '../../auth/account.ts'
import { proofOf, stillKnown } from '../../auth/account-store.ts'
import type { WantedKeys } from '../key.ts'
import type { SealedKey } from '../key-store.ts'

/**
 * One page of a user's keys: type by type, each sorted as requested. One snapshot has the tokens and the check that the
 * caller is still known.
 */
export async function readPageOfKeys(
  control: Pool,
  userId: number,
  listing: WantedKeys,
  caller: Holder | undefined,
): Promise<PageOfKeys> {
  const { rows } = await control.query<PageOfKeys>({
    name: `keys-by-${listing.order}-${listing.direction}`,
    text: `
      with ${asked}
      select
        (
          select cardinality(array_remove(types, 'regular')) + case when 'regular' = any(types) then regular_keys else 0 end
          from asked join cartage.users on users.id = asked.user_id
        ) as total,
        ${stillKnown(5)} as "isCallerKnown",
        (
          select coalesce(json_agg(key), '[]') from (
            select page.*, use.last_used_at from (
              select id, name, type, role_name, token_encrypted, apis, services, has_table_metadata,
                description, created_at, updated_at, expires_at, read_from, invited_until, row_number() over () as place
              ${fromPage(listing)}
            ) page left join cartage.key_uses use on use.key_id = page.id order by page.place
          ) key
        ) as keys`,
    values: [...valuesOf(userId, listing), ...proofOf(caller)],
  })
  return rows[0]!
}

/** Opaque to the planner, so that one plan serves all pages. */
const asked = `asked as materialized (
  select $1::integer as user_id, $2::text[] as types, $3::bigint as per_page, $4::bigint as page
)`

const valuesOf = (userId: number, { types, perPage, page }: WantedKeys) => [userId, types, perPage, page]

/** Every order has an index, so that only the keys up to the end of the page are read. */
function fromPage({ order, direction }: WantedKeys): string {
  const inOrder = `${orderColumn[order]} ${direction}, id ${direction}`
  return `
    from asked, unnest(types) with ordinality wanted (wanted_type, place)
    cross join lateral (
      select * from cartage.api_keys where user_id = asked.user_id and type = wanted_type
      order by ${inOrder} limit (select per_page * page from asked)
    ) key
    order by place, ${inOrder}
    limit (select per_page from asked) offset (select (page - 1) * per_page from asked)`
}

export type PageOfKeys = Readonly<{ total: number; isCallerKnown: boolean; keys: readonly SealedKey[] }>

/**
 * Sorting by `token` would leak the secret, `grants` are stored elsewhere, and all keys of a type have the same `type`:
 * these use the order of creation.
 */
const orderColumn = {
  name: 'name collate "C"',
  type: 'created_at',
  token: 'created_at',
  created_at: 'created_at',
  updated_at: 'updated_at',
  grants: 'created_at',
} as const satisfies Record<WantedKeys['order'], string>
