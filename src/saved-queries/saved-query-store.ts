import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import { maxSavedQueries, type QueryParams } from '../contract/saved-queries.ts'
import type { Definition } from './read-definition.ts'

type Control = Pick<Pool, 'query'>

export type SavedQuery = Definition &
  Readonly<{ name: string; revision: string; createdAt: Date; updatedAt: Date }>

/** Null: the user has too many. */
export async function saveQuery(
  control: Control,
  { userId }: Account,
  name: string,
  { sql, description, params, isPublic }: Definition,
): Promise<Readonly<{ query: SavedQuery; isNew: boolean }> | null> {
  const { rows } = await control.query<Row & { is_new: boolean }>(
    `insert into cartage.saved_queries as q (user_id, name, sql, description, params, is_public)
     select $1, $2, $3, $4, $5, $6
     where exists (select from cartage.saved_queries where user_id = $1 and name = $2)
       or (select count(*) from cartage.saved_queries where user_id = $1) < $7
     on conflict (user_id, name) do update set sql = excluded.sql, description = excluded.description,
       params = excluded.params, is_public = excluded.is_public, revision = gen_random_uuid(),
       updated_at = clock_timestamp()
     returning ${columns}, q.xmax = 0 as is_new`,
    [userId, name, sql, description, JSON.stringify(params), isPublic, maxSavedQueries],
  )
  const [row] = rows
  return row ? { query: queryOf(row), isNew: row.is_new } : null
}

export async function findQuery(
  control: Control,
  { userId }: Account,
  name: string,
): Promise<SavedQuery | undefined> {
  const { rows } = await control.query<Row>(
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
  const { rows } = await control.query<Row>(
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

const columns = 'name, sql, description, params, is_public, revision, created_at, updated_at'

type Row = Readonly<{
  name: string
  sql: string
  description: string
  params: string
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
  is_public,
  revision,
  created_at,
  updated_at,
}: Row): SavedQuery {
  return {
    name,
    sql,
    description,
    params: JSON.parse(params) as QueryParams,
    isPublic: is_public,
    revision,
    createdAt: created_at,
    updatedAt: updated_at,
  }
}
