import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type {
  CopyAnswer,
  Grant,
  JobDocument,
  JobQuery,
  KeyDocument,
  KeyList,
  SqlAnswer,
} from './documents.ts'
import { type Call, type Connection, connect, send, sendForJson } from './send.ts'

export type ClientOptions = Readonly<{
  /** Where the service is, without `/user/...`. */
  baseUrl: string
  username: string
  token: string
  /** The path's account where it is not the user: the organization. */
  account?: string
}>

export type Client = ReturnType<typeof createClient>

/** A user's view of a Cartage service. Everything that is not success is thrown as a CartageError. */
export function createClient({ baseUrl, username, token, account = username }: ClientOptions) {
  const encoded = Buffer.from(`${username}:${token}`).toString('base64')
  const connection = connect(baseUrl, `Basic ${encoded}`)
  return {
    keys: keysOf(connection, account),
    jobs: jobsOf(connection, account),
    ...dataOf(connection, account),
    /** Closes the connections that rest. */
    close: () => connection.agent.destroy(),
  }
}

export type KeyListing = Readonly<{
  page?: number
  per_page?: number
  order?: 'name' | 'type' | 'token' | 'created_at' | 'updated_at' | 'grants'
  order_direction?: 'asc' | 'desc'
  type?: string
}>
/** The organization member whose keys are meant. */
export type Target = Readonly<{ target_user?: string }>

function keysOf(connection: Connection, name: string) {
  const one = (key: string, query: Target) => ({ parameters: { name, key }, query })
  return {
    list: (query: KeyListing & Target = {}) =>
      sendForJson<KeyList>(connection, 'listKeys', { parameters: { name }, query }),
    create: (key: Readonly<{ name: string; grants: readonly Grant[] }>, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'createKey', { parameters: { name }, query, json: key }),
    read: (key: string, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'readKey', one(key, query)),
    delete: (key: string, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'deleteKey', one(key, query)),
    regenerate: (key: string, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'regenerateToken', one(key, query)),
  }
}

export type Waiting = Readonly<{ signal?: AbortSignal }>

function jobsOf(connection: Connection, name: string) {
  const one = (jobId: string) => ({ parameters: { name, jobId } })
  const read = (jobId: string, { waitSeconds, signal }: Waiting & { waitSeconds?: number } = {}) =>
    sendForJson<JobDocument>(connection, 'readJob', { ...one(jobId), query: { wait: waitSeconds }, signal })
  return {
    /** Sent with an idempotency key, so that a repeated request makes no second job. */
    create: (query: JobQuery, options: Readonly<{ idempotencyKey?: string }> = {}) =>
      sendForJson<JobDocument>(connection, 'createJob', {
        parameters: { name },
        json: { query },
        headers: { 'idempotency-key': options.idempotencyKey ?? randomUUID() },
      }),
    read,
    update: (jobId: string, query: JobQuery) =>
      sendForJson<JobDocument>(connection, 'updateJob', { ...one(jobId), json: { query } }),
    cancel: (jobId: string) => sendForJson<JobDocument>(connection, 'cancelJob', one(jobId)),
    /** Waits until the job has a final status. */
    finished: async (jobId: string, waiting: Waiting = {}): Promise<JobDocument> => {
      for (;;) {
        const job = await read(jobId, { ...waiting, waitSeconds: 30 })
        if (job.status !== 'pending' && job.status !== 'running') return job
      }
    },
  }
}

export type SqlParameters = Readonly<{
  rows_per_page?: number
  page?: number
  order_by?: string
  sort_order?: 'asc' | 'desc'
  skipfields?: string
}>
export type CopyFromOptions = Waiting & Readonly<{ contentEncoding?: 'gzip' | 'deflate' | 'br' | 'zstd' }>

function dataOf(connection: Connection, name: string) {
  const parameters = { name }
  const copyFrom = (q: string, rows: CopySource, { contentEncoding, signal }: CopyFromOptions = {}) => {
    const headers = {
      'content-type': 'application/octet-stream',
      'transfer-encoding': 'chunked',
      ...(contentEncoding && { 'content-encoding': contentEncoding }),
    }
    const stream = rows instanceof Readable ? rows : Readable.from(asChunks(rows))
    const call: Call = { parameters, query: { q }, headers, stream, signal }
    return sendForJson<CopyAnswer>(connection, 'copyFrom', call)
  }
  return {
    /** Numbers in rows are exact: see exact-json.ts for what they are where a double would change them. */
    sql: <Row = Record<string, unknown>>(q: string, options: SqlParameters & Waiting = {}) => {
      const { signal, ...query } = options
      return sendForJson<SqlAnswer<Row>>(connection, 'query', { parameters, json: { q, ...query }, signal })
    },
    /** Loads rows with `COPY ... FROM STDIN`: all of them, or none. */
    copyFrom,
    /** The bytes of `COPY ... TO STDOUT`. A copy that fails half-way ends the stream with an error. */
    copyTo: (q: string, { signal }: Waiting = {}): Promise<Readable> =>
      send(connection, 'copyTo', { parameters, query: { q }, headers: { accept: '*/*' }, signal }),
  }
}

export type CopySource = Readable | string | Uint8Array | AsyncIterable<string | Uint8Array>

function asChunks(rows: Exclude<CopySource, Readable>) {
  return typeof rows === 'string' || rows instanceof Uint8Array ? [rows] : rows
}
