import type { Principal } from '../auth/account.ts'
import type { Total } from '../contract/formats.ts'
import { errors } from '../errors.ts'
import { answerQuery, type Queries, type RowReceiver } from './answer-query.ts'
import type { Query } from './query.ts'
import type { PageTotal } from './rows/row-format.ts'

/** How many rows the query has on all its pages: counted, or as PostgreSQL's planner estimates. */
export async function countRows(
  queries: Queries,
  principal: Principal,
  query: Query & Readonly<{ total: Total }>,
  { gone, reader }: Pick<RowReceiver, 'gone' | 'reader'>,
): Promise<PageTotal> {
  const counting: Query = { ...query, format: 'json', skippedFields: new Set(), counting: query.total }
  const answer = await answerQuery(queries, principal, counting, { gone, reader, open: refuseLong })
  const [row] = (JSON.parse(Buffer.from(answer!, 'latin1').toString()) as { rows: CountRow[] }).rows
  const rows = query.total === 'exact' ? Number(row!.total) : row!['QUERY PLAN']![0]!.Plan['Plan Rows']
  return { rows, kind: query.total }
}

type CountRow = Readonly<{
  total?: number
  'QUERY PLAN'?: readonly Readonly<{ Plan: Readonly<{ 'Plan Rows': number }> }>[]
}>

/** A count is short; the plan of a huge statement may be longer than one chunk. */
function refuseLong(): never {
  throw errors.badRequest('The plan of the statement is too long for total=estimate: use total=exact')
}
