import assert from 'node:assert/strict'
import type { TestUser } from '../service/setup.ts'

export type Asked = Readonly<{
  method?: string
  /** The master key by default; empty: none. */
  token?: string
  body?: unknown
  headers?: Record<string, string>
}>

/** Sends a request to `/api/v4/queries`, with the key as a query parameter. */
export async function askQueries(user: TestUser, path: string, asked: Asked = {}): Promise<Response> {
  const {
    method = asked.body === undefined ? 'GET' : 'POST',
    token = user.masterToken,
    body,
    headers,
  } = asked
  const key = token === '' ? '' : `${path.includes('?') ? '&' : '?'}api_key=${token}`
  return fetch(`${user.base}/api/v4/queries${path}${key}`, {
    method,
    headers: { ...(typeof body === 'object' && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

export async function saved(user: TestUser, name: string, definition: object): Promise<void> {
  const answer = await askQueries(user, `/${name}`, { method: 'PUT', body: definition })
  assert.ok(answer.ok, await answer.text())
}

/** The rows of a query. */
export async function rowsOf(user: TestUser, path: string, asked?: Asked): Promise<unknown> {
  const answer = await askQueries(user, path, asked)
  const body = (await answer.json()) as { rows?: unknown }
  assert.equal(answer.status, 200, JSON.stringify(body))
  return body.rows
}

/** The status and the document of an error. */
export async function refusal(user: TestUser, path: string, asked?: Asked) {
  const answer = await askQueries(user, path, asked)
  const { error, code, context } = (await answer.json()) as {
    error: string[]
    code: string
    context?: string
  }
  return { status: answer.status, code, text: error?.[0] ?? '', context }
}
