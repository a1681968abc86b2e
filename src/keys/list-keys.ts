import type { Account, KeyType } from '../auth/account.ts'
import { effectiveGrants } from './effective-grants.ts'
import type { Key, KeysContext } from './key.ts'
import { readKey } from './key-store.ts'

export const keyOrders = ['name', 'type', 'token', 'created_at', 'updated_at', 'grants'] as const

export type KeyListing = Readonly<{
  page: number
  perPage: number
  order: (typeof keyOrders)[number]
  direction: 'asc' | 'desc'
  types: readonly KeyType[]
}>

/** One page of a user's keys: master first, then default, then regular ones, each in the order asked for. */
export async function listKeys(
  context: KeysContext,
  account: Account,
  listing: KeyListing,
): Promise<{ total: number; keys: readonly Key[] }> {
  const [total, rows] = await Promise.all([
    countKeys(context, account, listing),
    readPage(context, account, listing),
  ])
  const records = rows.map((row) => readKey(context.secrets, row))
  const held = await effectiveGrants(
    context,
    account,
    records.map((record) => record.role),
  )
  return { total, keys: records.map((record) => ({ ...record, ...held(record.role) })) }
}

async function countKeys(context: KeysContext, account: Account, { types }: KeyListing): Promise<number> {
  const { rows } = await context.databases.control.query<{ total: number }>(
    'select count(*)::integer as total from cartage.api_keys where user_id = $1 and type = any($2)',
    [account.userId, types],
  )
  return rows[0]!.total
}

async function readPage(
  { databases }: KeysContext,
  account: Account,
  { page, perPage, order, direction, types }: KeyListing,
) {
  const { rows } = await databases.control.query(
    `select * from cartage.api_keys where user_id = $1 and type = any($2)
     order by array_position('{master,default,regular}', type), ${orderColumn[order]} ${direction}, id ${direction}
     limit $3 offset ($4::bigint - 1) * $3::bigint`,
    [account.userId, types, perPage, page],
  )
  return rows
}

/** An order by the secret itself, or by what stands only in the tenant's catalogs, is the order of creation. */
const orderColumn = {
  name: 'name collate "C"',
  type: 'type',
  token: 'id',
  created_at: 'created_at',
  updated_at: 'updated_at',
  grants: 'id',
} as const satisfies Record<KeyListing['order'], string>
