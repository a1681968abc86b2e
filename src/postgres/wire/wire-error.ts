import { AppError, errors } from '../../errors.ts'
import { isConnectionLoss, sqlstate } from '../sqlstate.ts'
import { explainConflict } from './catalog-conflict.ts'

/** An ErrorResponse or NoticeResponse of the server. */
export type WireError = Readonly<{
  severity: string
  sqlstate: string
  message: string
  detail?: string | undefined
  hint?: string | undefined
  position?: number | undefined
  context?: string | undefined
  /** The column, if the error is about one. */
  column?: string | undefined
  /** PostgreSQL's source file that raised it. Errors raised in a caller's function name the file of its language. */
  file?: string | undefined
}>

/** Reads the fields of an ErrorResponse or NoticeResponse; the last one may be cut off. */
export function readWireError(buffer: Buffer, start: number, end: number): WireError {
  const fields = new Map<string, string>()
  let offset = start
  while (offset < end && buffer[offset] !== 0) {
    const key = String.fromCharCode(buffer[offset]!)
    const terminator = buffer.indexOf(0, offset + 1)
    const stop = terminator < 0 ? end : Math.min(terminator, end)
    fields.set(key, buffer.toString('utf8', offset + 1, stop))
    offset = stop + 1
  }
  const position = fields.get('P')
  const error = {
    severity: fields.get('V') ?? fields.get('S') ?? 'ERROR',
    sqlstate: fields.get('C') ?? 'XX000',
    message: fields.get('M') ?? '',
    detail: fields.get('D'),
    hint: fields.get('H'),
    position: position === undefined ? undefined : Number(position),
    context: fields.get('W'),
    column: fields.get('c'),
    file: fields.get('F'),
  }
  return explainConflict(error, { schema: fields.get('s'), index: fields.get('n') ?? '' })
}

/** The error as `pg` throws it. */
export function wireFailure({ sqlstate: code, message, context: where, ...details }: WireError): Error {
  return Object.assign(new Error(message), { code, where, ...details })
}

/**
 * Translates an error of the caller's SQL for the caller. The connection is alive, whatever the SQLSTATE: a function or
 * trigger can raise any of them.
 */
export function sqlError(error: WireError, cause: unknown = error): AppError {
  const kind = error.sqlstate === sqlstate.insufficientPrivilege ? 'forbidden' : 'invalid'
  const { severity: _, file: _file, column: _column, message, ...details } = error
  return errors.database(kind, message, { ...details, cause })
}

/** PostgreSQL itself cancelled the statement. (A caller's function can raise the same SQLSTATE.) */
export const isCancel = ({ sqlstate: state, file }: WireError) =>
  state === sqlstate.queryCanceled && file === 'postgres.c'

/**
 * Translates a cancel that the service did not send: a timeout of PostgreSQL, which the caller may have shortened, or
 * `pg_cancel_backend` by a role with that right. PostgreSQL has one SQLSTATE for both; if no limit of the service is
 * over, the message shows which it was.
 */
export function cancelError(error: WireError, overTime: AppError | null): AppError {
  if (overTime) return overTime
  return error.message.includes('statement timeout')
    ? errors.statementTimeout('the statement_timeout that the statement itself has set')
    : errors.statementCancelled(error)
}

/** The wait for a synchronous standby was cut short: the commit is stored here, and may be lost in a fail-over. */
export const isUnconfirmed = ({ file }: WireError) => file === 'syncrep.c'

/**
 * Translates any database error for the client, whether from `pg` or from the wire. Our own errors pass unchanged;
 * anything else is a bug and is rethrown.
 */
export function toClientError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const found = error as PgError
  const state = found.sqlstate ?? found.code
  // `pg`'s own errors for a lost connection have no code.
  if (isConnectionLoss(state === undefined ? error : { code: state }))
    return errors.databaseUnavailable(error)
  if (typeof state !== 'string' || !/^[0-9A-Z]{5}$/.test(state)) throw error
  const { message = '', detail, hint, where, context = where } = found
  const position = found.position === undefined ? undefined : Number(found.position)
  return sqlError({ severity: 'ERROR', sqlstate: state, message, detail, hint, context, position }, error)
}

type PgError = Partial<
  Record<'code' | 'sqlstate' | 'message' | 'detail' | 'hint' | 'where' | 'context', string>
> & { position?: string | number }
