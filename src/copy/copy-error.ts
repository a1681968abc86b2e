import { type AppError, errors } from '../errors.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import type { WireError } from '../postgres/wire/wire-error.ts'

/**
 * What PostgreSQL's answer to a COPY means to the client. The connection is alive, whatever SQLSTATE a function or
 * trigger of the user may have raised.
 */
export function copyError(error: WireError, isOverTime: boolean): AppError {
  if (error.sqlstate === sqlstate.queryCanceled && isOverTime) return errors.statementTimeout()
  if (error.sqlstate === quotaState) return errors.quotaExceeded(error)
  const kind = error.sqlstate === sqlstate.insufficientPrivilege ? 'forbidden' : 'invalid'
  const { message, detail, hint, context, position } = error
  return errors.database(kind, message, {
    detail,
    hint,
    context,
    position,
    sqlstate: error.sqlstate,
    cause: error,
  })
}

/** Raised by the quota triggers of prepared tables. */
const quotaState = 'QUOTA'
