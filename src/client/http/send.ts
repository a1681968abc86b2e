import { type OperationId, operations, pathOf } from '../../contract/operations.ts'
import { CartageError, cutAnswer, hasCode, refusal, unreachable } from '../cartage-error.ts'
import type { ExpectedStart } from './expected-answer.ts'
import { randomId } from './random-id.ts'
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
  /** Called for each request. Undefined: the request has no credential. */
  authorization: () => string | undefined
  transport: Transport
  /** How often a request is sent again at most, where that is safe. */
  retries: number
  hooks: Hooks
  /** How documents are read and written, unless as JavaScript does. To keep every digit of a number takes a library. */
  json?: JsonText
}>

/** The authorization of a key. A name may have letters beyond Latin-1. */
export const basicOf = (username: string, token: string) =>
  `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${username}:${token}`)))}`

export type JsonText = Readonly<{ read: (text: string) => unknown; write: (value: unknown) => string }>

export const plainJson: JsonText = { read: JSON.parse, write: JSON.stringify }

/** What an application does about answers, for all its requests. */
export type Hooks = Readonly<{
  /** Called with every answer, as soon as its headers are there. */
  onAnswer?: (answer: Pick<HttpResponse, 'status' | 'header'>) => void
  /** The credential was refused. True: send the request again, with the authorization of that time. */
  onUnauthorized?: () => Promise<boolean>
  /** There was no answer. Never fails; ends when the service answers again. */
  onUnreachable?: () => Promise<void>
}>

export type Call = Readonly<{
  parameters?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string | number | boolean | undefined>>
  headers?: Readonly<Record<string, string>>
  /** What the answer must look like. */
  look?: ExpectedStart | undefined
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is, as fast as it comes. */
  upload?: Body
  /** Called with the progress of the upload. */
  onProgress?: OnProgress | undefined
  /** Whether it does no harm to send it twice. Reads and what has an idempotency key are so by themselves. */
  isRepeatable?: boolean | undefined
  signal?: AbortSignal | undefined
}>

export type OnProgress = (progress: Progress) => void

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
      if (!(await isWorthAnother(connection, operation, call, error, attempt))) throw error
    }
  }
}

/** Whether to send it again, after the time that this takes. */
async function isWorthAnother(
  { hooks, retries }: Connection,
  operation: OperationId,
  call: Call,
  error: unknown,
  attempt: number,
): Promise<boolean> {
  const isBack = hasCode(error, 'service-unreachable') ? hooks.onUnreachable?.() : undefined
  if (!isReplayable(call.upload)) return false
  if (hooks.onUnauthorized && error instanceof CartageError && error.status === 401)
    return hooks.onUnauthorized()
  const waitMs =
    attempt <= retries ? waitBeforeRetry(error, attempt, isRepeatable(operation, call)) : undefined
  if (waitMs === undefined) return false
  await (isBack ? Promise.race([isBack, pause(longestAwayMs, call.signal)]) : pause(waitMs, call.signal))
  return true
}

/** How long a request waits for a service that does not answer. */
const longestAwayMs = 15_000

const isRepeatable = (operation: OperationId, { headers, ...call }: Call) =>
  call.isRepeatable ?? (operations[operation][0] === 'GET' || headers?.['idempotency-key'] !== undefined)

/** The body of the answer as text. */
export async function sendForText(
  connection: Connection,
  operation: OperationId,
  call: Call = {},
): Promise<string> {
  const { body } = await send(connection, operation, call)
  return readText(wholeOrThrow(body, call.signal))
}

async function sendOnce(connection: Connection, operation: OperationId, call: Call): Promise<HttpResponse> {
  const response = await exchange(connection, operation, call)
  if (response.status >= 200 && response.status < 300) return response
  throw refusal(response.status, response.header, await readText(response.body).catch(() => ''))
}

async function exchange(connection: Connection, operation: OperationId, call: Call): Promise<HttpResponse> {
  const { baseUrl, transport, hooks } = connection
  const authorization = connection.authorization()
  const url = new URL(`${baseUrl}${pathOf(operation, call.parameters ?? {})}`)
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  try {
    const response = await transport.exchange({
      method: operations[operation][0],
      url: url.href,
      headers: {
        accept: 'application/json',
        ...(authorization === undefined ? {} : { authorization }),
        ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(transport.sendsAgain && !isRepeatable(operation, call) && onlyOnce()),
        ...call.headers,
      },
      body: call.json === undefined ? call.upload : (connection.json ?? plainJson).write(call.json),
      onProgress: call.onProgress,
      signal: call.signal,
    })
    hooks.onAnswer?.(response)
    return response
  } catch (error) {
    throw error instanceof ConnectionLost ? unreachable(baseUrl, error.cause) : error
  }
}

/** The same bytes. An end that is missing is thrown in the middle. */
export async function* wholeOrThrow(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  onProgress?: OnProgress,
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

export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}

/**
 * For a request that changes something, by a browser: it sends a POST again when a connection that it had kept breaks
 * before the answer. With this header the service runs it once, and refuses what comes again (`request-repeated`).
 */
const onlyOnce = () => ({ 'idempotency-key': randomId() })
