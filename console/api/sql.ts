import type { SqlAnswer } from '../../src/contract/documents.ts'
import { type Call, requestJson } from './request.ts'

export * from '../../src/contract/text/quote.ts'

/** Runs SQL for a page's own needs (catalogs, sizes, privileges); results for people go through result/. */
export function readSql<Row>(
  text: string,
  call: Pick<Call, 'signal' | 'as' | 'parameters'> = {},
): Promise<SqlAnswer<Row>> {
  return requestJson<SqlAnswer<Row>>('query', { ...call, json: { q: text } })
}

export async function readRows<Row>(
  text: string,
  call: Pick<Call, 'signal' | 'as' | 'parameters'> = {},
): Promise<readonly Row[]> {
  return (await readSql<Row>(text, call)).rows
}
