import { onConflicts, onErrors, rejectLists } from '../../contract/formats.ts'
import { defaultBadRows, maxBadRows } from '../../contract/limits.ts'
import { splitNames } from '../../contract/text/name-list.ts'
import type { LoadOptions } from '../../copy/load/load.ts'
import type { MergeOptions } from '../../copy/load/merge-rows.ts'
import { errors } from '../../errors.ts'
import { choiceOf, type Parameters, textOf, wholeOf } from '../middleware/parameters.ts'

/** `on_error`, `max_bad_rows`, `rejects`, `on_conflict` and `key`. One that would have no effect is refused. */
export function readLoadOptions(parameters: Parameters): LoadOptions {
  const skips = choiceOf(parameters, 'on_error', onErrors) === 'skip'
  const badRows = wholeOf(parameters, 'max_bad_rows', 0, maxBadRows)
  const rejects = choiceOf(parameters, 'rejects', rejectLists)
  if (!skips && (badRows !== undefined || rejects !== undefined))
    throw errors.badRequest('max_bad_rows and rejects go with on_error=skip')
  return {
    skip: skips ? { maxBadRows: badRows ?? defaultBadRows, keepsAll: rejects === 'all' } : undefined,
    merge: mergeOf(parameters),
  }
}

function mergeOf(parameters: Parameters): MergeOptions | undefined {
  const onConflict = choiceOf(parameters, 'on_conflict', onConflicts)
  const key = textOf(parameters, 'key')
  if (onConflict === undefined && key === undefined) return undefined
  if (onConflict === undefined || key === undefined)
    throw errors.badRequest('on_conflict and key go together: on_conflict=update&key=id')
  return { onConflict, key: keyColumnsOf(key) }
}

/** No index has more columns. */
const mostKeyColumns = 32

export function keyColumnsOf(key: string): readonly string[] {
  const names = splitNames(key, mostKeyColumns)
  if (!names)
    throw errors.badRequest(`Invalid key: it must be a list of up to ${mostKeyColumns} columns, such as a,b`)
  return names
}
