import type { QueryResultRow } from 'pg'
import { type Account, masterTargetOf, type Principal } from '../auth/account.ts'
import type { Databases } from '../postgres/databases.ts'
import { queryInCatalog } from './query-in-catalog.ts'
import { runAs, type StatementOptions } from './run-as.ts'

/** Runs one of our catalog queries with the caller's key. Returns the rows. */
export function askCatalogAs<R extends QueryResultRow>(
  databases: Databases,
  principal: Principal,
  options: Omit<StatementOptions, 'kind' | 'text' | 'slots'>,
  text: string,
  values: unknown[],
): Promise<R[]> {
  return runAs(databases, principal, { ...options, kind: 'query', isAside: true }, (run) =>
    run.watch(async (session) => (await queryInCatalog<R>(session, text, values)).rows),
  )
}

/** The same as the account's master role, without a caller's key. */
export async function askCatalogAsMaster<R extends QueryResultRow>(
  databases: Databases,
  account: Account,
  text: string,
  values: unknown[],
): Promise<R[]> {
  const { rows } = await databases.query.use(masterTargetOf(account), (session) =>
    queryInCatalog<R>(session, text, values),
  )
  return rows
}

/** Runs one of our statements as the account's master role, with its search path. Returns the rows. */
export async function queryAsMaster<R extends QueryResultRow>(
  databases: Databases,
  account: Account,
  text: string,
): Promise<R[]> {
  const { rows } = await databases.query.use(masterTargetOf(account), (session) => session.query<R>(text))
  return rows
}
