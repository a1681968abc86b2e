import type { SqlAnswer } from '../../src/contract/documents.ts'
import { type ApiCall, requestJson } from './request.ts'

export * from '../../src/contract/text/quote.ts'

/** A statement as a table, whose end may be a comment. */
export const rowsOf = (statement: string) => `(${statement.replace(/;\s*$/, '')}\n) as q`

type SqlCall = Pick<ApiCall, 'signal' | 'as' | 'parameters'>

/** `params`: the values of $1, $2, … */
type SqlValues = SqlCall & Readonly<{ params?: readonly unknown[] }>

/** Runs the page's own SQL that changes something. Statements of users run through result/. */
export function changeBySql<Row>(text: string, { params, ...call }: SqlValues = {}): Promise<SqlAnswer<Row>> {
  return requestJson<SqlAnswer<Row>>('query', { ...call, json: { q: text, ...(params && { params }) } })
}

/** Reads what a page needs: catalogs, sizes, privileges. Sent again when the service is back. */
export async function readRows<Row>(
  text: string,
  { params, ...call }: SqlValues = {},
): Promise<readonly Row[]> {
  const answer = await requestJson<SqlAnswer<Row>>('query', {
    ...call,
    json: { q: text, ...(params && { params }) },
    isRepeatable: true,
  })
  return answer.rows
}
