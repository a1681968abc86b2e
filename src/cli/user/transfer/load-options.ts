import type { LoadParameters } from '../../../client/api/copy-upload.ts'
import { splitNames } from '../../../contract/text/name-list.ts'
import { UsageError } from '../../command-error.ts'
import { textOf, wholeNumberOf } from '../../option-values.ts'
import type { UserCall } from '../command.ts'

/** Refuses options that would have no effect. */
export function checkLoadOptions({ values }: UserCall): void {
  const needy = ['max-bad-rows', 'rejects'].find((name) => values[name] !== undefined)
  if (needy && !values['skip-bad-rows']) throw new UsageError(`--${needy} needs --skip-bad-rows`)
  keyOf(values)
  wholeNumberOf(values, 'max-bad-rows')
}

/** What the service is to do with bad rows and with rows that are there. */
export function loadParameters({ values }: UserCall): LoadParameters {
  const maxBadRows = wholeNumberOf(values, 'max-bad-rows')
  const key = keyOf(values)
  return {
    ...(values['skip-bad-rows'] && { onError: 'skip' as const }),
    ...(maxBadRows !== undefined && { maxBadRows }),
    ...(values.rejects !== undefined && { rejects: 'all' as const }),
    ...(key && { onConflict: 'update' as const, key }),
  }
}

function keyOf(values: UserCall['values']): readonly string[] | undefined {
  const text = textOf(values, 'upsert')
  if (text === undefined) return undefined
  const names = splitNames(text, text.length)
  if (!names) throw new UsageError('--upsert needs the names of columns')
  return names
}
