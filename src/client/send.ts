import {
  type IncomingMessage,
  Agent as PlainAgent,
  type RequestOptions,
  request as sendPlain,
} from 'node:http'
import { Agent as SecureAgent, request as sendSecure } from 'node:https'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CartageError } from './cartage-error.ts'
import { parseExact } from './exact-json.ts'
import { type OperationId, operations, pathOf } from './operations.ts'

/** Where the service is, and what every request to it carries. */
export type Connection = Readonly<{
  baseUrl: string
  authorization: string
  agent: PlainAgent
}>

export type Call = Readonly<{
  parameters?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string | number | boolean | undefined>>
  headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is, as fast as it comes. */
  stream?: Readable
  signal?: AbortSignal | undefined
}>

export function connect(baseUrl: string, authorization: string): Connection {
  const isSecure = new URL(baseUrl).protocol === 'https:'
  const agent = new (isSecure ? SecureAgent : PlainAgent)({ keepAlive: true })
  return { baseUrl: baseUrl.replace(/\/+$/, ''), authorization, agent }
}

/**
 * Sends a request and answers with the response as soon as its headers are there. Anything but success is thrown as
 * a CartageError. There is no limit of time (a copy may take hours): use the signal. (fetch has limits of its own.)
 */
export async function send(
  connection: Connection,
  operation: OperationId,
  call: Call = {},
): Promise<IncomingMessage> {
  const response = await exchange(connection, operation, call)
  const status = response.statusCode ?? 0
  if (status >= 200 && status < 300) return response
  const text = await readText(response).catch(() => '')
  // Refused early: there is no use in sending the rest.
  call.stream?.destroy()
  throw new CartageError(status, response.headers, text)
}

/** Numbers are as exact as the service wrote them. */
export async function sendForJson<T>(
  connection: Connection,
  operation: OperationId,
  call: Call = {},
): Promise<T> {
  return parseExact(await readText(await send(connection, operation, call))) as T
}

async function exchange(
  connection: Connection,
  operation: OperationId,
  call: Call,
): Promise<IncomingMessage> {
  try {
    return await exchangeOnce(connection, operation, call)
  } catch (error) {
    // The server may close a resting connection at the very moment that we use it again.
    const isStale = (error as { isReused?: boolean }).isReused === true
    const isRepeatable = operations[operation][0] === 'GET' || call.headers?.['idempotency-key'] !== undefined
    if (!isStale || !isRepeatable) throw error
    return exchangeOnce(connection, operation, call)
  }
}

function exchangeOnce(connection: Connection, operation: OperationId, call: Call): Promise<IncomingMessage> {
  const { url, options, body } = prepare(connection, operation, call)
  const start = url.protocol === 'https:' ? sendSecure : sendPlain
  return new Promise((resolve, reject) => {
    const request = start(url, options, resolve)
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isReused = request.reusedSocket && error.code === 'ECONNRESET'
      reject(Object.assign(error, { isReused }))
    })
    // An early answer ends the upload; it is the answer that counts then.
    if (call.stream) pipeline(call.stream, request).catch(reject)
    else request.end(body)
  })
}

function prepare({ baseUrl, authorization, agent }: Connection, operation: OperationId, call: Call) {
  const url = new URL(`${baseUrl}${pathOf(operation, call.parameters ?? {})}`)
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  const body = call.json === undefined ? undefined : JSON.stringify(call.json)
  const options: RequestOptions = {
    method: operations[operation][0],
    agent,
    headers: {
      accept: 'application/json',
      authorization,
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      ...call.headers,
    },
    ...(call.signal ? { signal: call.signal } : {}),
  }
  return { url, options, body }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
