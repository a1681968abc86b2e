import { type OperationId, operations } from '../../src/contract/operations.ts'
import { quoteShell } from '../../src/contract/text/quote.ts'
import { addressOf, type Call } from './request.ts'

export { quoteShell }

export type CurlCall = Pick<Call, 'parameters' | 'query' | 'json'> &
  Readonly<{
    username: string
    /** Written into the line only where the person asked for that; else it names the variable. null: as nobody. */
    token?: string | null | undefined
    /** Sent as fields of a form, by POST. */
    form?: Readonly<Record<string, string>>
  }>

export const tokenVariable = 'CARTAGE_API_KEY'

/** A request as a line for a shell, which does the same there. */
export function curlLine(operation: OperationId, call: CurlCall): string {
  const { username, token, json, form = {}, parameters, query } = call
  const [method] = operations[operation]
  const user = token === undefined ? `"${username}:$${tokenVariable}"` : quoteShell(`${username}:${token}`)
  return [
    'curl',
    ...(method === 'GET' || method === 'POST' ? [] : ['-X', method]),
    // A POST without a body.
    ...(method === 'POST' && json === undefined && Object.keys(form).length === 0 ? ['-X', 'POST'] : []),
    quoteShell(addressOf(operation, { parameters: { name: username, ...parameters }, query: query ?? {} })),
    ...(token === null ? [] : ['-u', user]),
    ...(json === undefined
      ? []
      : ['-H', quoteShell('Content-Type: application/json'), '-d', quoteShell(JSON.stringify(json))]),
    ...Object.entries(form).flatMap(([name, value]) => ['--data-urlencode', quoteShell(`${name}=${value}`)]),
  ].join(' ')
}
