import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { TestUser } from '../service/setup.ts'

/**
 * The requests of carto-python, as exact as a server can see: `api_key` and `client` go into a JSON body if there is
 * one, else into the query string; paths are joined to a base that ends with a slash.
 */
export class CartoClient {
  readonly #base: string
  readonly #token: string

  constructor(user: TestUser, token = user.masterToken) {
    this.#base = `${user.base}/`
    this.#token = token
  }

  /** `APIKeyAuthClient.send` */
  async send(path: string, method: string, request: CartoRequest = {}): Promise<Response> {
    const url = new URL(path, this.#base)
    const credentials = { api_key: this.#token, client: 'carto-python' }
    const inBody = request.json !== undefined && ['POST', 'PUT'].includes(method)
    for (const [name, value] of Object.entries({ ...request.params, ...(inBody ? {} : credentials) })) {
      url.searchParams.append(name, value)
    }
    const init: RequestInit & { duplex?: 'half' } = {
      method,
      headers: { 'user-agent': 'python-requests/2.31.0', accept: '*/*', ...request.headers },
    }
    if (inBody) {
      init.headers = { ...init.headers, 'content-type': 'application/json' }
      init.body = JSON.stringify({ ...request.json, ...credentials })
    } else if (request.data) {
      init.body = request.data instanceof Readable ? (Readable.toWeb(request.data) as never) : request.data
      init.duplex = 'half'
    }
    return fetch(url, init)
  }

  /** `SQLClient.send`: by form by default. */
  async sql(q: string, { doPost = true, ...parameters }: SqlOptions = {}): Promise<SqlAnswer> {
    const params = { q, ...parameters }
    const response =
      q.length < 1024 && !doPost
        ? await this.send('api/v2/sql', 'GET', { params })
        : await this.send('api/v2/sql', 'POST', { data: new URLSearchParams(params) })
    return readAnswer(response)
  }

  /** `BatchSQLClient`: note the slash at the end of the collection. */
  async createJob(query: unknown): Promise<JobAnswer> {
    return readAnswer(await this.send('api/v2/sql/job/', 'POST', { json: { query } }))
  }

  async readJob(jobId: string): Promise<JobAnswer> {
    return readAnswer(await this.send(`api/v2/sql/job/${jobId}`, 'GET'))
  }

  async cancelJob(jobId: string): Promise<JobAnswer> {
    return readAnswer(await this.send(`api/v2/sql/job/${jobId}`, 'DELETE'))
  }

  /** `CopySQLClient.copyfrom`: chunked, gzip, and the key twice in the query string. */
  async copyFrom(q: string, chunks: Iterable<string>): Promise<{ total_rows: number; time: number }> {
    return readAnswer(
      await this.send('api/v2/sql/copyfrom', 'POST', {
        params: { api_key: this.#token, q },
        headers: { 'content-type': 'application/octet-stream', 'content-encoding': 'gzip' },
        data: Readable.from(chunks).pipe(createGzip({ level: 1 })),
      }),
    )
  }

  async copyTo(q: string): Promise<string> {
    const response = await this.send('api/v2/sql/copyto', 'GET', { params: { api_key: this.#token, q } })
    if (!response.ok) throw new CartoException(response.status, await response.json())
    return response.text()
  }
}

export class CartoException extends Error {
  readonly status: number

  constructor(status: number, body: unknown) {
    super((body as { error?: string[] }).error?.[0] ?? JSON.stringify(body))
    this.status = status
  }
}

export async function readAnswer<T>(response: Response): Promise<T> {
  const body = await response.json()
  if (!response.ok) throw new CartoException(response.status, body)
  return body as T
}

type CartoRequest = Readonly<{
  params?: Record<string, string>
  headers?: Record<string, string>
  json?: Record<string, unknown>
  data?: URLSearchParams | Readable
}>
type SqlOptions = Readonly<{ doPost?: boolean; format?: string }>
export type SqlAnswer = Readonly<{
  rows: Record<string, unknown>[]
  fields: Record<string, { type: string; pgtype?: string }>
  total_rows: number
  notices?: string[]
}>
export type JobAnswer = Readonly<{ job_id: string; status: string; failed_reason?: string }>
