import assert from 'node:assert/strict'
import { type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions, request } from 'node:http'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { eventually, type Setup, type TestUser } from '../service/setup.ts'

export type Reply = Readonly<{
  status: number
  headers: IncomingMessage['headers']
  trailers: IncomingMessage['trailers']
  bytes: Buffer
  /** The parsed body, if it is JSON. */
  body: Record<string, unknown>
}>

export const copyUrl = (
  user: Pick<TestUser, 'base' | 'masterToken'>,
  direction: 'copyfrom' | 'copyto',
  q: string,
  apiKey = user.masterToken,
) => `${user.base}/api/v2/sql/${direction}?${new URLSearchParams({ q, ...(apiKey && { api_key: apiKey }) })}`

/** One request without keep-alive. A stream is sent in chunks, bytes with a Content-Length. */
export async function send(
  url: string,
  options: RequestOptions & { headers?: OutgoingHttpHeaders } = {},
  body?: Buffer | string | Readable,
): Promise<Reply> {
  const sent = request(url, { agent: false, ...options })
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    sent.on('response', resolve).on('error', reject),
  )
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) sent.end(body)
  else body.pipe(sent)
  return readReply(await answered)
}

export async function readReply(response: IncomingMessage): Promise<Reply> {
  const bytes = await buffer(response)
  const { statusCode, headers, trailers } = response
  const isJson = headers['content-type']?.startsWith('application/json')
  return { status: statusCode!, headers, trailers, bytes, body: isJson ? JSON.parse(bytes.toString()) : {} }
}

export function copyfrom(
  user: Pick<TestUser, 'base' | 'masterToken'>,
  q: string,
  body: Buffer | string | Readable,
  headers: OutgoingHttpHeaders = {},
): Promise<Reply> {
  return send(copyUrl(user, 'copyfrom', q), { method: 'POST', headers }, body)
}

export function copyto(user: TestUser, q: string, headers: OutgoingHttpHeaders = {}): Promise<Reply> {
  return send(copyUrl(user, 'copyto', q), { headers })
}

/** A table to copy into: `t (id int, name text)`. */
export async function createTable(user: TestUser): Promise<void> {
  await user.sql('create table t (id int, name text)')
}

export async function countRows(user: TestUser): Promise<number> {
  return Number((await user.sql('select count(*) from t')).rows[0].count)
}

/** `count` lines of CSV for `t`. */
export function csvLines(count: number): string {
  return Array.from({ length: count }, (_, id) => `${id},name of ${id}\n`).join('')
}

/** Asserts that no copy runs, no connection is taken and no lock is held on `t`. */
export async function assertAtRest({ admin, service }: Setup, user: TestUser): Promise<void> {
  await eventually(async () => {
    const { open, idle, waiting } = service.services.databases.copy.stats()
    assert.deepEqual({ taken: open - idle, waiting }, { taken: 0, waiting: 0 })
    const { rows } = await admin(
      `select query from pg_stat_activity where datname = $1 and application_name = 'cartage copy' and state <> 'idle'`,
      [user.account.database],
    )
    assert.deepEqual(rows, [])
  })
}

/** The COPYs that PostgreSQL runs for this user. */
export async function runningCopies(user: TestUser): Promise<number> {
  const { rowCount } = await user.sql(
    "select from pg_stat_activity where usename = current_user and application_name = 'cartage copy' and state <> 'idle'",
  )
  return rowCount ?? 0
}
