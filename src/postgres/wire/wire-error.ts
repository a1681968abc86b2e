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
  /** The source file of PostgreSQL that raised it. Errors of a caller's own function have that of its language. */
  file?: string | undefined
}>

/** Reads the fields of an ErrorResponse or NoticeResponse payload; the last one may be cut off. */
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
    file: fields.get('F'),
  }
  return explainConflict(error, { schema: fields.get('s'), index: fields.get('n') ?? '' })
}

/**
 * What an error of the caller's SQL means to the caller. The connection is alive, whatever SQLSTATE it carries: a
 * function or trigger may have raised any of them.
 */
export function sqlError(error: WireError, cause: unknown = error): AppError {
  const kind = error.sqlstate === sqlstate.insufficientPrivilege ? 'forbidden' : 'invalid'
  const { severity: _, file: _file, message, ...details } = error
  return errors.database(kind, message, { ...details, cause })
}

/** PostgreSQL itself has cancelled the statement. (A function of the caller can raise the same SQLSTATE.) */
export const isCancel = ({ sqlstate: state, file }: WireError) =>
  state === sqlstate.queryCanceled && file === 'postgres.c'

/**
 * What a cancel means that we have not asked for: a time limit of PostgreSQL, which the caller may have set shorter, or
 * `pg_cancel_backend` by somebody who may. PostgreSQL has one SQLSTATE for both; where the time does not tell, its words do.
 */
export function cancelError(error: WireError, isOverTime: boolean): AppError {
  const isTimeout = isOverTime || error.message.includes('statement timeout')
  return isTimeout ? errors.statementTimeout() : errors.statementCancelled(error)
}

/** The commit waited for a synchronous standby, and was cut short: it stands here, and may be lost in a fail-over. */
export const isUnconfirmed = ({ file }: WireError) => file === 'syncrep.c'

/**
 * What any error of a database means to the client, whether it came from `pg` or from the wire. Errors of our own pass
 * unchanged; what is not a database error is rethrown as the bug it is.
 */
export function toClientError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const found = error as PgError
  const state = found.sqlstate ?? found.code
  // What pg itself says of a lost connection carries no code.
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
