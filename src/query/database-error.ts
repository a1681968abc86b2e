import { type AppError, errors } from '../errors.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import type { WireError } from '../postgres/wire-error.ts'

/**
 * What an error of the caller's SQL means to the caller. Whatever SQLSTATE it carries, the connection is alive: a
 * connection error raised by hand is no more than any other error.
 */
export function databaseError(error: WireError, shift: number): AppError {
  if (error.sqlstate === sqlstate.queryCanceled) return errors.statementTimeout()
  const kind = error.sqlstate === sqlstate.insufficientPrivilege ? 'forbidden' : 'invalid'
  const { message, detail, hint, context } = error
  return errors.database(kind, message, {
    detail,
    hint,
    context,
    position: positionIn(error.position, shift),
    sqlstate: error.sqlstate,
    cause: error,
  })
}

/** The place in the caller's own text. */
function positionIn(position: number | undefined, shift: number): number | undefined {
  return position === undefined || position <= shift ? undefined : position - shift
}
