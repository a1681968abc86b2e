import { type AppError, errors } from '../errors.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import type { WireError } from '../postgres/wire/wire-error.ts'
import type { PreparedStatement } from './prepare-statement.ts'

/**
 * What an error of the caller's SQL means to the caller. Whatever SQLSTATE it carries, the connection is alive: a
 * connection error raised by hand is no more than any other error.
 */
export function databaseError(error: WireError, statement: PreparedStatement): AppError {
  if (error.sqlstate === sqlstate.queryCanceled) return errors.statementTimeout()
  const kind = error.sqlstate === sqlstate.insufficientPrivilege ? 'forbidden' : 'invalid'
  const { message, detail, context } = error
  return errors.database(kind, message, {
    detail,
    context,
    ...placeOf(error, statement),
    sqlstate: error.sqlstate,
    cause: error,
  })
}

/** The place in the caller's own text. What stands around it is ours: PostgreSQL's hint would speak of names of ours. */
function placeOf(
  { position, hint }: WireError,
  { place: { start, end, shift }, hintAround }: PreparedStatement,
): Readonly<{ position?: number; hint?: string | undefined }> {
  if (position === undefined) return { hint }
  const own = position - shift
  return own > start && own <= end ? { position: own, hint } : { hint: hintAround }
}
