import { type OperationId, operations } from '../../src/contract/operations.ts'
import { quoteShell } from '../../src/contract/text/quote.ts'
import { type ApiCall, addressOf } from './request.ts'

export { quoteShell }

export type CurlCall = Pick<ApiCall, 'parameters' | 'query' | 'json'> &
  Readonly<{
    username: string
    /** The token to write into the line. undefined: the line names the variable. null: no credential. */
    token?: string | null | undefined
    /** Fields of a form, sent by POST. */
    form?: Readonly<Record<string, string>>
  }>

export const tokenVariable = 'CARTAGE_API_KEY'

/** A request as a curl command for a shell. */
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
