import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import { lockUser } from '../auth/account-store.ts'
import { maxDashboards, maxFilterValue } from '../contract/dashboards.ts'
import type { QueryParams } from '../contract/saved-queries.ts'
import { type Control, inTransaction } from '../postgres/transaction.ts'
import { nextTurn } from '../waiting/next-turn.ts'
import { type ExpectedDashboard, isExpected, mayReplace } from './dashboard-version.ts'
import type { Dashboard, DashboardContent } from './read-dashboard.ts'

export type DashboardHead = Omit<Dashboard, 'content'> &
  Readonly<{ name: string; createdAt: Date; updatedAt: Date }>
export type StoredDashboard = DashboardHead & Readonly<{ content: DashboardContent }>

export type Saved = Readonly<{ dashboard: StoredDashboard; isNew: boolean }>

/** Saves nothing if the user has as many as allowed, or if it would replace another dashboard than expected. */
export async function saveDashboard(
  control: Pool,
  account: Account,
  name: string,
  dashboard: Dashboard,
  expected: ExpectedDashboard | undefined,
): Promise<Saved | 'too-many' | 'changed'> {
  const { userId } = account
  const { title, description, isPublic, content } = dashboard
  return inTransaction(control, async (tx) => {
    // Requests at once count, and compare, one after the other.
    await lockUser(tx, userId)
    if (expected && !mayReplace(await findDashboard(tx, account, name), dashboard, expected)) return 'changed'
    const others = await tx.query<{ count: number }>(
      'select count(*)::integer as count from cartage.dashboards where user_id = $1 and name <> $2',
      [userId, name],
    )
    if (others.rows[0]!.count >= maxDashboards) return 'too-many'
    const { rows } = await tx.query<DashboardRow & { is_new: boolean }>(
      `insert into cartage.dashboards as d (user_id, name, title, description, is_public, content)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (user_id, name) do update set title = excluded.title, description = excluded.description,
         is_public = excluded.is_public, content = excluded.content, updated_at = clock_timestamp()
       returning ${head}, content, d.xmax = 0 as is_new`,
      [userId, name, title, description, isPublic, JSON.stringify(content)],
    )
    const row = rows[0]!
    return { dashboard: dashboardOf(row), isNew: row.is_new }
  })
}

export async function findDashboard(
  control: Control,
  { userId }: Account,
  name: string,
): Promise<StoredDashboard | undefined> {
  const { rows } = await control.query<DashboardRow>(
    `select ${head}, content from cartage.dashboards where user_id = $1 and name = $2`,
    [userId, name],
  )
  return rows[0] && dashboardOf(rows[0])
}

/** By name. */
export async function listDashboards(
  control: Control,
  { userId }: Account,
): Promise<readonly DashboardHead[]> {
  const { rows } = await control.query<HeadRow>(
    `select ${head} from cartage.dashboards where user_id = $1 order by name collate "C"`,
    [userId],
  )
  return rows.map(headOf)
}

/** Deletes nothing if it is another dashboard than expected. */
export async function deleteDashboard(
  control: Pool,
  account: Account,
  name: string,
  expected: ExpectedDashboard | undefined,
): Promise<'deleted' | 'missing' | 'changed'> {
  const { userId } = account
  return inTransaction(control, async (tx) => {
    // A save at the same time is before or after the comparison, not between it and the deletion.
    await lockUser(tx, userId)
    const found = await findDashboard(tx, account, name)
    if (!found) return 'missing'
    if (expected && !isExpected(found, expected)) return 'changed'
    await tx.query('delete from cartage.dashboards where user_id = $1 and name = $2', [userId, name])
    return 'deleted'
  })
}

export type PartQuery = Readonly<{ name: string; isPublic: boolean; params: QueryParams }>

/** The saved queries of these names, in no order. Without defaults that no filter could have. */
export async function findPartQueries(
  control: Control,
  { userId }: Account,
  names: readonly string[],
  isPublicOnly: boolean,
): Promise<readonly PartQuery[]> {
  const { rows } = await control.query<{ name: string; is_public: boolean; params: string }>(
    `select name, is_public, params from cartage.saved_queries
     where user_id = $1 and name = any ($2) and (is_public or not $3)`,
    [userId, names, isPublicOnly],
  )
  const found: PartQuery[] = []
  for (const { name, is_public, params } of rows) {
    // A default may be a document of 500 KB.
    await nextTurn()
    found.push({ name, isPublic: is_public, params: withShortDefaults(JSON.parse(params) as QueryParams) })
  }
  return found
}

const withShortDefaults = (params: QueryParams): QueryParams =>
  Object.fromEntries(
    Object.entries(params).map(([name, { default: value, ...param }]) => [
      name,
      { ...param, ...(isShort(value) && { default: value }) },
    ]),
  )

const isShort = (value: unknown) =>
  value !== undefined && typeof value !== 'object' && String(value).length <= maxFilterValue

const head = 'name, title, description, is_public, created_at, updated_at'

type HeadRow = Readonly<{
  name: string
  title: string
  description: string
  is_public: boolean
  created_at: Date
  updated_at: Date
}>
type DashboardRow = HeadRow & Readonly<{ content: string }>

const headOf = ({ name, title, description, is_public, created_at, updated_at }: HeadRow): DashboardHead => ({
  name,
  title,
  description,
  isPublic: is_public,
  createdAt: created_at,
  updatedAt: updated_at,
})

const dashboardOf = (row: DashboardRow): StoredDashboard => ({
  ...headOf(row),
  content: JSON.parse(row.content) as DashboardContent,
})
