import type { SqlAnswer } from '../../src/contract/documents.ts'
import { type ApiCall, requestJson } from './request.ts'

export * from '../../src/contract/text/quote.ts'

/** Runs SQL that a page needs itself: catalogs, sizes, privileges. Statements of users run through result/. */
export function readSql<Row>(
  text: string,
  call: Pick<ApiCall, 'signal' | 'as' | 'parameters'> = {},
): Promise<SqlAnswer<Row>> {
  return requestJson<SqlAnswer<Row>>('query', { ...call, json: { q: text } })
}

export async function readRows<Row>(
  text: string,
  call: Pick<ApiCall, 'signal' | 'as' | 'parameters'> = {},
): Promise<readonly Row[]> {
  return (await readSql<Row>(text, call)).rows
}
