import type { TestUser } from '../service/setup.ts'

export type Reply = Readonly<{ status: number; headers: Headers; text: string; body: Body }>

/** The members of a JSON answer that tests check. */
export type Body = Readonly<{
  rows: Record<string, unknown>[]
  fields: Record<string, { type: string; pgtype?: string }>
  total_rows: number
  time: number
  notices?: string[]
  warnings?: string[]
  error: string[]
  code?: string
  detail?: string
  hint?: string
  context?: string
  position?: number
}>

/** Runs SQL through the SQL endpoint with the master key, unless another key (or none: '') is given. */
export async function ask(
  user: TestUser,
  q: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const all = new URLSearchParams({ q, api_key: user.masterToken, ...parameters })
  if (q.length > longestInUrl) return post(user, { body: all })
  return readReply(await fetch(`${user.base}/api/v2/sql?${all}`))
}

const longestInUrl = 4000

export async function post(user: TestUser, init: RequestInit, query = ''): Promise<Reply> {
  return readReply(await fetch(`${user.base}/api/v2/sql${query}`, { method: 'POST', ...init }))
}

export async function readReply(response: Response): Promise<Reply> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson ? JSON.parse(text) : {}) as Body,
  }
}
