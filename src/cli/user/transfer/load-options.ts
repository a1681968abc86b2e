import type { LoadParameters } from '../../../client/api/copy-upload.ts'
import { type OnConflict, onConflicts } from '../../../contract/formats.ts'
import { splitNames } from '../../../contract/text/name-list.ts'
import type { RowMerge } from '../../../file-import/import-plan.ts'
import { UsageError } from '../../command-error.ts'
import { textOf, wholeNumberOf } from '../../option-values.ts'
import type { UserCall } from '../command.ts'

/** Refuses options that would have no effect. */
export function checkLoadOptions({ values }: UserCall): void {
  const needy = ['max-bad-rows', 'rejects'].find((name) => values[name] !== undefined)
  if (needy && !values['skip-bad-rows']) throw new UsageError(`--${needy} needs --skip-bad-rows`)
  mergeOf(values)
  wholeNumberOf(values, 'max-bad-rows')
}

/** What the service is to do with bad rows. */
export function loadParameters({ values }: UserCall): LoadParameters {
  const maxBadRows = wholeNumberOf(values, 'max-bad-rows')
  return {
    ...(values['skip-bad-rows'] && { onError: 'skip' as const }),
    ...(maxBadRows !== undefined && { maxBadRows }),
    ...(values.rejects !== undefined && { rejects: 'all' as const }),
  }
}

/** What is done with a row whose key is in the table. Undefined: all rows are added. */
export function mergeOf(values: UserCall['values']): RowMerge | undefined {
  const text = textOf(values, 'upsert')
  const onConflict = textOf(values, 'on-conflict')
  if (onConflict !== undefined && text === undefined) throw new UsageError('--on-conflict goes with --upsert')
  if (onConflict !== undefined && !isOnConflict(onConflict))
    throw new UsageError(`--on-conflict must be one of ${onConflicts.join(', ')}`)
  if (text === undefined) return undefined
  const key = splitNames(text, text.length)
  if (!key) throw new UsageError('--upsert needs the names of columns')
  return { onConflict: onConflict ?? 'update', key }
}

const isOnConflict = (text: string): text is OnConflict => (onConflicts as readonly string[]).includes(text)
