import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import { lockUser } from '../auth/account-store.ts'
import type { ChartDefinition } from '../contract/charts.ts'
import { maxSavedQueries, maxSavedQueryBytes, type QueryParams } from '../contract/saved-queries.ts'
import { type Control, inTransaction } from '../postgres/transaction.ts'
import type { SavedDefinition } from './read-definition.ts'

export type SavedQuery = SavedDefinition &
  Readonly<{ name: string; revision: string; createdAt: Date; updatedAt: Date }>

/** `beyond`: the limit that the user would pass. */
export async function saveQuery(
  control: Pool,
  { userId }: Account,
  name: string,
  { sql, description, params, isPublic, chart }: SavedDefinition,
): Promise<Readonly<{ query: SavedQuery; isNew: boolean } | { beyond: 'count' | 'bytes' }>> {
  return inTransaction(control, async (tx) => {
    // Requests at once count one after the other.
    await lockUser(tx, userId)
    const written = [sql, description, JSON.stringify(params), chart ? JSON.stringify(chart) : null]
    const others = await tx.query<{ count: number; bytes: number }>(
      `select count(*)::integer as count,
         coalesce(sum(octet_length(sql) + octet_length(description) + octet_length(params)
           + coalesce(octet_length(chart), 0)), 0)::integer as bytes
       from cartage.saved_queries where user_id = $1 and name <> $2`,
      [userId, name],
    )
    const { count, bytes } = others.rows[0]!
    if (count >= maxSavedQueries) return { beyond: 'count' }
    const own = written.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
    if (bytes + own > maxSavedQueryBytes) return { beyond: 'bytes' }
    const { rows } = await tx.query<SavedQueryRow & { is_new: boolean }>(
      `insert into cartage.saved_queries as q (user_id, name, sql, description, params, chart, is_public)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (user_id, name) do update set sql = excluded.sql, description = excluded.description,
         params = excluded.params, chart = excluded.chart, is_public = excluded.is_public, revision = gen_random_uuid(),
         updated_at = clock_timestamp()
       returning ${columns}, q.xmax = 0 as is_new`,
      [userId, name, ...written, isPublic],
    )
    const row = rows[0]!
    return { query: queryOf(row), isNew: row.is_new }
  })
}

export async function findQuery(
  control: Control,
  { userId }: Account,
  name: string,
): Promise<SavedQuery | undefined> {
  const { rows } = await control.query<SavedQueryRow>(
    `select ${columns} from cartage.saved_queries where user_id = $1 and name = $2`,
    [userId, name],
  )
  return rows[0] && queryOf(rows[0])
}

/** By name. */
export async function listQueries(
  control: Control,
  { userId }: Account,
  isPublicOnly: boolean,
): Promise<readonly SavedQuery[]> {
  const { rows } = await control.query<SavedQueryRow>(
    `select ${columns} from cartage.saved_queries where user_id = $1 and (is_public or not $2) order by name collate "C"`,
    [userId, isPublicOnly],
  )
  return rows.map(queryOf)
}

/** False if there is none. */
export async function deleteQuery(control: Control, { userId }: Account, name: string): Promise<boolean> {
  const { rowCount } = await control.query(
    'delete from cartage.saved_queries where user_id = $1 and name = $2',
    [userId, name],
  )
  return rowCount === 1
}

const columns = 'name, sql, description, params, chart, is_public, revision, created_at, updated_at'

type SavedQueryRow = Readonly<{
  name: string
  sql: string
  description: string
  params: string
  chart: string | null
  is_public: boolean
  revision: string
  created_at: Date
  updated_at: Date
}>

function queryOf({
  name,
  sql,
  description,
  params,
  chart,
  is_public,
  revision,
  created_at,
  updated_at,
}: SavedQueryRow): SavedQuery {
  return {
    name,
    sql,
    description,
    params: JSON.parse(params) as QueryParams,
    chart: chart === null ? undefined : (JSON.parse(chart) as ChartDefinition),
    isPublic: is_public,
    revision,
    createdAt: created_at,
    updatedAt: updated_at,
  }
}
