import type { LoadParameters } from '../../../client/api/copy-upload.ts'
import { UsageError } from '../../command-error.ts'
import { textOf, wholeNumberOf } from '../../option-values.ts'
import type { UserCall } from '../command.ts'

/** Refuses options that would have no effect. */
export function checkLoadOptions({ values }: UserCall): void {
  const needy = ['max-bad-rows', 'rejects'].find((name) => values[name] !== undefined)
  if (needy && !values['skip-bad-rows']) throw new UsageError(`--${needy} goes with --skip-bad-rows`)
  if (textOf(values, 'upsert') === '') throw new UsageError('--upsert needs the names of columns')
  wholeNumberOf(values, 'max-bad-rows')
}

/** What the service is to do with bad rows and with rows that are there. */
export function loadParameters({ values }: UserCall): LoadParameters {
  const maxBadRows = wholeNumberOf(values, 'max-bad-rows')
  const key = textOf(values, 'upsert')
  return {
    ...(values['skip-bad-rows'] && { onError: 'skip' as const }),
    ...(maxBadRows !== undefined && { maxBadRows }),
    ...(values.rejects !== undefined && { rejects: 'all' as const }),
    ...(key !== undefined && { onConflict: 'update' as const, key: key.split(',') }),
  }
}
