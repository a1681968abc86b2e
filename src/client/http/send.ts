import { type OperationId, operations, pathOf } from '../../contract/operations.ts'
import { cutAnswer, refusal, unreachable } from '../cartage-error.ts'
import { stringifyExact } from '../exact-json.ts'
import { checkedStart, checkType, type Look, readAnswer } from './expected-answer.ts'
import { onlyOnce } from './only-once.ts'
import { pause, waitBeforeRetry } from './retry.ts'
import {
  type Body,
  ConnectionLost,
  type HttpResponse,
  isReplayable,
  type Progress,
  type Transport,
} from './transport.ts'

/** Where the service is, and what every request to it carries. */
export type Connection = Readonly<{
  baseUrl: string
  authorization: string
  transport: Transport
  /** How often a request is sent again at most, where that is safe. */
  retries: number
}>

export type Call = Readonly<{
  parameters?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string | number | boolean | undefined>>
  headers?: Readonly<Record<string, string>>
  /** What the answer must look like. */
  look?: Look | undefined
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is, as fast as it comes. */
  upload?: Body
  /** Of the upload. */
  onProgress?: OnProgress | undefined
  /** Whether it does no harm to send it twice. Reads and what has an idempotency key are so by themselves. */
  isRepeatable?: boolean | undefined
  signal?: AbortSignal | undefined
}>

export type OnProgress = (progress: Progress) => void

export function connect(
  baseUrl: string,
  authorization: string,
  transport: Transport,
  retries = defaultRetries,
): Connection {
  return { baseUrl: baseUrl.replace(/\/+$/, ''), authorization, transport, retries }
}

const defaultRetries = 3

/**
 * Sends a request and answers with the response as soon as its headers are there. Anything but success is thrown as
 * a CartageError, after what is safe to be sent again was sent again.
 */
export async function send(
  connection: Connection,
  operation: OperationId,
  call: Call = {},
): Promise<HttpResponse> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sendOnce(connection, operation, call)
    } catch (error) {
      call.signal?.throwIfAborted()
      const mayTry = attempt <= connection.retries && isReplayable(call.upload)
      const waitMs = mayTry ? waitBeforeRetry(error, attempt, isRepeatable(operation, call)) : undefined
      if (waitMs === undefined) throw error
      await pause(waitMs, call.signal)
    }
  }
}

const isRepeatable = (operation: OperationId, { headers, ...call }: Call) =>
  call.isRepeatable ?? (operations[operation][0] === 'GET' || headers?.['idempotency-key'] !== undefined)

/** Numbers are as exact as the service wrote them. */
export async function sendForJson<T>(
  connection: Connection,
  operation: OperationId,
  call: Call = {},
): Promise<T> {
  return readAnswer(operation, await sendForText(connection, operation, call)) as T
}

export async function sendForText(connection: Connection, operation: OperationId, call: Call = {}) {
  return readText(await sendForBytes(connection, operation, call))
}

/** The body of the answer, piece by piece. An end that is missing is thrown in the middle. */
export async function sendForBytes(
  connection: Connection,
  operation: OperationId,
  call: Call,
  onProgress?: OnProgress,
): Promise<AsyncIterable<Uint8Array>> {
  const { body, header } = await send(connection, operation, call)
  const bytes = wholeOrThrow(body, call.signal, onProgress)
  if (!call.look) return bytes
  checkType(header('content-type'), call.look.type)
  return call.look.start === '' ? bytes : checkedStart(bytes, call.look.start)
}

async function sendOnce(connection: Connection, operation: OperationId, call: Call): Promise<HttpResponse> {
  const response = await exchange(connection, operation, call)
  if (response.status >= 200 && response.status < 300) return response
  throw refusal(response.status, response.header, await readText(response.body).catch(() => ''))
}

async function exchange(
  { baseUrl, authorization, transport }: Connection,
  operation: OperationId,
  call: Call,
): Promise<HttpResponse> {
  const url = new URL(`${baseUrl}${pathOf(operation, call.parameters ?? {})}`)
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  try {
    return await transport.exchange({
      method: operations[operation][0],
      url: url.href,
      headers: {
        accept: 'application/json',
        authorization,
        ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(transport.sendsAgain && !isRepeatable(operation, call) && onlyOnce()),
        ...call.headers,
      },
      body: call.json === undefined ? call.upload : stringifyExact(call.json),
      onProgress: call.onProgress,
      signal: call.signal,
    })
  } catch (error) {
    throw error instanceof ConnectionLost ? unreachable(baseUrl, error.cause) : error
  }
}

async function* wholeOrThrow(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  onProgress: OnProgress | undefined,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { value, done } = await nextOf(chunks, signal)
      if (done) return
      bytes += value.length
      onProgress?.({ bytes })
      yield value
    }
  } finally {
    await chunks.return?.()
  }
}

/** What the caller does with a chunk may fail as well: only what reading throws is a cut. */
function nextOf(chunks: AsyncIterator<Uint8Array>, signal: AbortSignal | undefined) {
  return chunks.next().catch((error: unknown) => {
    signal?.throwIfAborted()
    throw cutAnswer(error)
  })
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}
