import type { HttpResponse } from '../../src/client/http/transport.ts'
import type { KeyDocument, SqlAnswer } from '../../src/contract/documents.ts'
import { request } from '../api/request.ts'
import { quoteLiteral, readRows } from '../api/sql.ts'
import { credentialOf } from './member.ts'

export type Trial = Readonly<{ rows: readonly Record<string, unknown>[]; total: number }> | 'too-long'

/** Enough to see that it works. The editor shows larger results. */
const mostCharacters = 200_000

/**
 * Runs one statement with the token of the key, in a transaction that is rolled back. Only one: a second statement
 * could be a COMMIT.
 */
export async function tryStatement(key: KeyDocument, text: string): Promise<Trial> {
  const call = { as: credentialOf(key), parameters: { name: key.user.username } }
  const statements = await readRows<{ statement: string }>(
    `select statement from cartodb.CDB_QueryStatements(${quoteLiteral(text)}) statement`,
    call,
  )
  if (statements.length !== 1) throw new Error('Enter one statement only.')
  const stop = new AbortController()
  const response = await request('query', {
    ...call,
    signal: stop.signal,
    json: { q: `begin;\n${statements[0]!.statement}\n;rollback` },
  })
  const answer = await readStart(response)
  if (answer === undefined) {
    stop.abort()
    return 'too-long'
  }
  const { rows, total_rows: total } = JSON.parse(answer) as SqlAnswer
  return { rows, total: Math.max(total, rows.length) }
}

/** The body, or undefined if it is too long. */
async function readStart({ body }: HttpResponse): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > mostCharacters) return undefined
  }
  return text
}
