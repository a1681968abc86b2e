import type { AppError } from '../errors.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import { cancelError, isCancel, sqlError, type WireError } from '../postgres/wire/wire-error.ts'
import { wrongCount } from './params/bind-values.ts'
import { highestParameter } from './params/highest-parameter.ts'
import type { PreparedStatement } from './prepare-statement.ts'

/** Translates PostgreSQL's error in a query for the client. */
export function databaseError(
  error: WireError,
  statement: PreparedStatement,
  { overTime, isReadOnly }: Readonly<{ overTime: AppError | null; isReadOnly: boolean }>,
): AppError {
  if (isCancel(error)) return cancelError(error, overTime)
  const { text, valueCount } = statement
  // PostgreSQL complains about a missing parameter before it tells how many there are.
  if (error.sqlstate === sqlstate.indeterminateDatatype && valueCount !== undefined) {
    const wanted = highestParameter(text)
    if (wanted > valueCount) return wrongCount(valueCount, wanted)
  }
  const own = ownViews.find(([denied]) => error.message.includes(denied))?.[1]
  const hint = own && { hint: `Read your own with ${own}` }
  if (isReadOnly && error.sqlstate === sqlstate.readOnlyTransaction)
    return sqlError({ ...error, hint: 'A link only reads, and so must the functions that its query calls' })
  return sqlError({ ...error, ...placeOf(error, statement), ...hint, context: contextOf(error) })
}

/** What PostgreSQL says of views that show the sessions of others, and what shows the caller's own. */
const ownViews = [
  ['permission denied for function pg_lock_status', 'the function pg_locks()'],
  [
    'permission denied for function pg_stat_get_progress_info',
    'a function, such as pg_stat_progress_create_index()',
  ],
] as const

/** PostgreSQL names the parameter with a bad value in protocol terms. */
function contextOf({ context }: WireError): string | undefined {
  return context?.replace(/(?<=^|\n)unnamed portal parameter (\$\d+)( = .*)?$/s, 'parameter $1')
}

/**
 * The position in the caller's own text. An error in the text around it gets our own hint, as PostgreSQL's would
 * mention our names.
 */
function placeOf(
  { position, hint }: WireError,
  { place, hintAround }: PreparedStatement,
): Pick<WireError, 'position' | 'hint'> {
  if (position === undefined) return { hint }
  const { start, end, shift } = place()
  const own = position - shift
  return own > start && own <= end ? { position: own, hint } : { position: undefined, hint: hintAround }
}
