import type { QueryResult, QueryResultRow } from 'pg'
import type { Session } from '../postgres/session.ts'

/**
 * Runs a query of ours on a tenant's session. There a bare name, an operator too, could mean something that the tenant
 * made; here it means what PostgreSQL's own catalog says. The transaction ends when the session is given back.
 */
export async function queryInCatalog<R extends QueryResultRow>(
  session: Session,
  text: string,
  values: unknown[],
): Promise<QueryResult<R>> {
  await session.query('begin read only; set local search_path = pg_catalog')
  return session.query<R>(text, values)
}
