import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../contract/error-codes.ts'
import type { ErrorMembers } from '../../contract/session-frames.ts'
import { AppError, type ErrorKind, errors } from '../../errors.ts'
import type { Log } from '../../log/log.ts'
import { hasSqlstate, sqlstate } from '../../postgres/sqlstate.ts'
import { toClientError } from '../../postgres/wire/wire-error.ts'
import { hintHeader, refusalHint } from './credential/credential-hint.ts'
import { challengeFor } from './credential/request-credential.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The error that was answered, for the log. */
    failure: AppError | null
  }
}

export type Thrown = FastifyError | AppError | Error

/** `{"error":[...]}` with code and details: everywhere except the key endpoints. */
export function respondWithError(thrown: Thrown, request: FastifyRequest, reply: FastifyReply): void {
  respondInForm(thrown, request, reply, detailedBody)
}

/** Clients of the key endpoints compare this one text. */
export function respondWithKeyError(thrown: Thrown, request: FastifyRequest, reply: FastifyReply): void {
  respondInForm(thrown, request, reply, ({ message }) => ({ errors: message, errors_cause: null }))
}

/** Clients of imports read the text in either place. */
export function respondWithImportError(thrown: Thrown, request: FastifyRequest, reply: FastifyReply): void {
  respondInForm(thrown, request, reply, (error, hint) => ({
    errors: { imports: error.message },
    ...detailedBody(error, hint),
  }))
}

/** Bytes stand for the content of a tile. */
type ErrorForm = (error: AppError, hint: unknown) => Record<string, unknown> | Buffer
type Send = (status: number, body: Record<string, unknown> | Buffer) => void

function detailedBody({ message, code, extras }: AppError, hint: unknown): Record<string, unknown> {
  const { sqlstate, detail, context, position, body } = extras
  return { error: [message], code, sqlstate, detail, hint: extras.hint ?? hint, context, position, ...body }
}

/**
 * The one place where an error becomes a response. An unexpected error is logged in full, and the client is told
 * nothing about it.
 */
export function respondInForm(
  thrown: Thrown,
  request: FastifyRequest,
  reply: FastifyReply,
  form: ErrorForm,
  send: Send = (status, body) => {
    // A stream may have set its own type before it failed.
    const type = Buffer.isBuffer(body) ? 'application/x-protobuf' : 'application/json; charset=utf-8'
    reply.code(status).type(type).send(body)
  },
): void {
  const error = toAppError(thrown)
  const status = statusByKind[error.kind]
  const { retryAfterSeconds } = error.extras
  if (error.kind === 'broken') request.log.error({ err: thrown }, 'request failed')
  request.failure = error
  if (status === 401) reply.header('WWW-Authenticate', challengeFor(request.headers))
  if (retryAfterSeconds !== undefined) setRetryHeaders(reply, status, retryAfterSeconds)
  if (credentialErrors.has(error.code))
    reply.header(hintHeader, error.extras.hint ?? refusalHint(request, error.code))
  send(status, form(error, reply.getHeader(hintHeader)))
}

/** The same as a member of a frame, with its status. */
export function errorMembers(thrown: unknown, log: Pick<Log, 'error'>): ErrorMembers {
  const error = toAppError(thrown as Thrown)
  if (error.kind === 'broken') log.error({ err: thrown }, 'statement of a session failed')
  const { code, extras } = error
  const retry = { retry_after: extras.retryAfterSeconds }
  return {
    error: [error.message],
    code,
    status: statusByKind[error.kind],
    ...detailedBody(error, undefined),
    ...retry,
  }
}

const credentialErrors: ReadonlySet<ErrorCode> = new Set([
  'unauthorized',
  'wrong-credential',
  'permission-denied',
])

/** Clients that see Retry-After on a 429 also read the other three headers, whatever the limit was. */
function setRetryHeaders(reply: FastifyReply, status: number, seconds: number): void {
  reply.header('Retry-After', seconds)
  if (status !== 429 || reply.hasHeader('Carto-Rate-Limit-Limit')) return
  reply.header('Carto-Rate-Limit-Limit', 0)
  reply.header('Carto-Rate-Limit-Remaining', 0)
  reply.header('Carto-Rate-Limit-Reset', seconds)
}

function toAppError(thrown: Thrown): AppError {
  if (thrown instanceof AppError) return thrown
  const { statusCode, message } = thrown as FastifyError
  if (statusCode === 413) return new AppError('body-too-large', 'too-large', message, { cause: thrown })
  if (statusCode === 415) return errors.unsupportedMedia(message)
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return errors.badRequest(message)
  // Errors of a tenant's SQL do not arrive here unconverted: this was one of our statements.
  if (hasSqlstate(thrown, ...waitedTooLong, ...outOfResources)) return errors.databaseUnavailable(thrown)
  try {
    return toClientError(thrown)
  } catch {
    return errors.internal(thrown)
  }
}

const waitedTooLong = [sqlstate.queryCanceled, sqlstate.lockNotAvailable]
const outOfResources = [sqlstate.diskFull, sqlstate.outOfMemory, sqlstate.ioError]

const statusByKind: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'not-allowed': 405,
  slow: 408,
  conflict: 409,
  precondition: 412,
  'too-large': 413,
  unsupported: 415,
  unprocessable: 422,
  locked: 423,
  limited: 429,
  // A status of the protocol tus.
  checksum: 460,
  unavailable: 503,
  broken: 500,
}
