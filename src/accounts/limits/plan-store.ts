import type { ClientBase } from 'pg'
import type { SetLimits } from '../../contract/admin-names.ts'
import { errors } from '../../errors.ts'
import { hasSqlstate, sqlstate } from '../../postgres/sqlstate.ts'
import type { Queryable } from '../../postgres/transaction.ts'
import type { GivenLimits } from './check-limits.ts'

/** A named set of limits that accounts refer to. */
export type Plan = Readonly<{
  name: string
  limits: SetLimits
  /** How many accounts refer to it. */
  users: number
  createdAt: Date
  updatedAt: Date
}>

const selectPlans = `
  select p.name, p.limits, p.created_at as "createdAt", p.updated_at as "updatedAt",
    (select count(*)::integer from cartage.users u where u.plan = p.name) as users
  from cartage.plans p`

export async function listPlans(control: Queryable): Promise<readonly Plan[]> {
  const { rows } = await control.query<Plan>(`${selectPlans} order by p.name`)
  return rows
}

export async function findPlan(control: Queryable, name: string): Promise<Plan | undefined> {
  const { rows } = await control.query<Plan>(`${selectPlans} where p.name = $1`, [name])
  return rows[0]
}

export async function insertPlan(tx: ClientBase, name: string, limits: SetLimits): Promise<void> {
  await tx
    .query('insert into cartage.plans (name, limits) values ($1, $2)', [name, JSON.stringify(limits)])
    .catch((error: unknown) => {
      throw hasSqlstate(error, sqlstate.uniqueViolation) ? errors.planTaken(name) : error
    })
}

/** False: there is no such plan. */
export async function changePlanRow(tx: ClientBase, name: string, changes: GivenLimits): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update cartage.plans set limits = ${mergedLimits('limits', '$2')}, updated_at = now() where name = $1`,
    [name, JSON.stringify(changes)],
  )
  return rowCount === 1
}

/** Locks the plan first, so that no new user gets it. If users have it, returns some of their names and keeps the plan. */
export async function deletePlanRow(tx: ClientBase, name: string): Promise<readonly string[] | undefined> {
  const { rowCount } = await tx.query('select from cartage.plans where name = $1 for update', [name])
  if (rowCount === 0) return undefined
  const { rows } = await tx.query<{ username: string }>(
    `select username from cartage.users where plan = $1 order by username limit ${mostNames}`,
    [name],
  )
  if (rows.length === 0) await tx.query('delete from cartage.plans where name = $1', [name])
  return rows.map(({ username }) => username)
}

/** How many names the error shows. */
const mostNames = 100

/** Writes the limits of an account, or of all with a plan, into their queues of jobs. */
export async function limitJobs(
  tx: ClientBase,
  { userId, plan }: Readonly<{ userId?: number; plan?: string }>,
): Promise<void> {
  await tx.query('select cartage.limit_jobs($1, $2)', [userId ?? null, plan ?? null])
}

/** As JSON Merge Patch: a member that is left out stays, null removes it. So does each group of `rates`. */
export const mergedLimits = (column: string, changes: string) => `case
         when ${changes}::jsonb is null then ${column}
         when jsonb_typeof(${changes}::jsonb -> 'rates') = 'object' then jsonb_strip_nulls(
           ${column} || ${changes}
             || jsonb_build_object('rates', coalesce(${column} -> 'rates', '{}') || (${changes}::jsonb -> 'rates')))
         else jsonb_strip_nulls(${column} || ${changes}) end`
