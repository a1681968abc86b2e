import type { ErrorCode } from '../contract/error-codes.ts'
import type { JobStatus } from '../contract/job-status.ts'

/** Everything that goes wrong between a caller and the service: its text, and what else the service said. */
export class CartageError extends Error {
  /** The status of the answer; 0 without an answer, or with a part of one. */
  readonly status: number
  /** The key endpoints send none. A newer service may send one that this client does not know. */
  readonly code: ErrorCode | ClientErrorCode | OtherCode | undefined
  /** Where PostgreSQL gave one. */
  readonly sqlstate: string | undefined
  readonly detail: string | undefined
  readonly hint: string | undefined
  readonly context: string | undefined
  /** In the text of the statement, in characters from 1. */
  readonly position: number | undefined
  /** The whole error document, if it was JSON. */
  readonly body: ErrorBody
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, { status = 0, body = {}, requestId, retryAfterSeconds, cause }: ErrorFacts) {
    super(message, { cause })
    this.name = 'CartageError'
    this.status = status
    this.body = body
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
    this.code = textIn(body.code)
    this.sqlstate = textIn(body.sqlstate)
    this.detail = textIn(body.detail)
    this.hint = textIn(body.hint)
    this.context = textIn(body.context)
    this.position = typeof body.position === 'number' ? body.position : undefined
  }
}

/** The codes of errors that the client itself raises. */
export type ClientErrorCode =
  | 'service-unreachable'
  | 'answer-cut'
  | 'answer-unexpected'
  | 'job-not-followed'
  | 'import-failed'
  | `job-${JobStatus}`
/** Any text; the others are still offered where one is typed. */
type OtherCode = string & Record<never, never>

export const hasCode = (error: unknown, code: ErrorCode | ClientErrorCode): boolean =>
  error instanceof CartageError && error.code === code

type ErrorBody = Readonly<Record<string, unknown>>
export type ErrorFacts = Readonly<{
  status?: number
  body?: ErrorBody
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
  cause?: unknown
}>

type ReadHeader = (name: string) => string | null | undefined

/** An answer that is not success. */
export function refusal(status: number, header: ReadHeader, text: string): CartageError {
  const body = parseDocument(text)
  const facts = {
    status,
    body,
    requestId: header('x-request-id') ?? undefined,
    retryAfterSeconds: secondsIn(header('retry-after')),
  }
  // A tile over a limit has no body.
  const message = messageIn(body) ?? header('cartage-hint') ?? `The service answered ${status}`
  return new CartageError(message, facts)
}

/** There is no answer, and it is unknown whether the request arrived. */
export function unreachable(baseUrl: string, cause: unknown): CartageError {
  return new CartageError(`No service answers at ${baseUrl}`, {
    body: { code: 'service-unreachable' satisfies ClientErrorCode },
    cause,
  })
}

/** An answer whose end is missing: what came of it must not be taken for the whole. */
export function cutAnswer(cause?: unknown): CartageError {
  return new CartageError('The answer was cut off before its end', {
    body: { code: 'answer-cut' satisfies ClientErrorCode },
    cause,
  })
}

/** An answer of success that this service does not give: something else listens there, or stands between. */
export function unexpectedAnswer(what: string, cause?: unknown): CartageError {
  return new CartageError(`The answer is not one of Cartage: ${what}`, {
    body: { code: 'answer-unexpected' satisfies ClientErrorCode },
    cause,
  })
}

/** Retry-After may be a date too, which this service never sends. */
const secondsIn = (text: string | null | undefined) => (/^\d+$/.test(text ?? '') ? Number(text) : undefined)

const textIn = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

function parseDocument(text: string): ErrorBody {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as ErrorBody) : {}
  } catch {
    return {}
  }
}

/** Key endpoints say `errors: "text"`, all others `error: ["text"]`. */
function messageIn({ errors, error }: ErrorBody): string | undefined {
  return [errors, error].flat().find((text) => typeof text === 'string')
}
