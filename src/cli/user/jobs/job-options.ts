import type { CommandOptions } from '../../command.ts'
import { UsageError } from '../../command-error.ts'
import { textOf } from '../../option-values.ts'
import type { UserCall } from '../command.ts'

/** The options of commands that wait for a job. */
export const waitOptions = {
  'give-up-after': {
    type: 'string',
    value: 'TIME',
    help: 'stop waiting if the service does not answer for this time, such as 10m; the job goes on',
  },
} as const satisfies CommandOptions

/** The options of commands that queue a job. */
export const sendOptions = {
  'idempotency-key': {
    type: 'string',
    value: 'KEY',
    help: 'jobs sent with the same key are queued once; default: a new key',
  },
  notify: {
    type: 'string',
    multiple: true,
    value: 'URL',
    help: 'address that gets a message when the job ends; may be repeated',
  },
  detach: { type: 'boolean', help: 'print the id and do not wait' },
  ...waitOptions,
} as const satisfies CommandOptions

export const giveUpAfterMs = ({ values }: UserCall) => durationOf(values, 'give-up-after')

/** In milliseconds. */
export function durationOf(values: UserCall['values'], option: string): number | undefined {
  const time = textOf(values, option)
  if (time === undefined) return undefined
  const [, number, unit] = /^(\d{1,9})(ms|s|m|h)$/.exec(time) ?? []
  if (!number)
    throw new UsageError(`--${option} must be a duration such as 500ms, 90s, 10m or 2h, not '${time}'`)
  return Number(number) * { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit as 'ms' | 's' | 'm' | 'h']
}
