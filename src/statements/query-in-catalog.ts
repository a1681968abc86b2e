import type { QueryResult, QueryResultRow } from 'pg'
import type { Session } from '../postgres/session.ts'

/**
 * Runs one of our queries on a tenant's session. With only pg_catalog on the search path, names and operators cannot
 * resolve to objects that the tenant made. The transaction ends when the session is released.
 */
export async function queryInCatalog<R extends QueryResultRow>(
  session: Session,
  text: string,
  values: unknown[],
): Promise<QueryResult<R>> {
  await session.query('begin read only; set local search_path = pg_catalog')
  return session.query<R>(text, values)
}
