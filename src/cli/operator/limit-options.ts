import type { GivenLimits } from '../../accounts/limits/check-limits.ts'
import type { SetLimits } from '../../contract/admin-names.ts'
import { defaultSchedules } from '../../contract/limits.ts'
import { UsageError } from '../command-error.ts'
import { listOf, type OptionValues, wholeNumberOf } from '../option-values.ts'

/** `--limit`, `--rate` and `--schedules` of `user set`, `plan create` and `plan set`. Undefined if none is given. */
export function readLimitOptions(values: OptionValues): GivenLimits | undefined {
  const numbers = listOf(values, 'limit').map((pair) => {
    const [, name, text] = /^([a-z_]+)=(\d{1,15}|default)$/.exec(pair) ?? []
    if (!name || !text)
      throw new UsageError(`--limit must be NAME=NUMBER, such as query_timeout_ms=60000, not '${pair}'`)
    return [name, text === 'default' ? null : Number(text)]
  })
  const rates = listOf(values, 'rate').map((pair) => {
    const [, group, text] = /^([a-z_]+)=(.+)$/.exec(pair) ?? []
    if (!group || !text) throw new UsageError(`--rate must be GROUP=RATE, such as sql=100/60, not '${pair}'`)
    return [group, text === 'default' ? null : text]
  })
  const schedules = values.schedules === 'default' ? null : wholeNumberOf(values, 'schedules')
  const limits = {
    ...Object.fromEntries(numbers),
    ...(rates.length > 0 && { rates: Object.fromEntries(rates) }),
    ...(schedules !== undefined && { schedules }),
  }
  return Object.keys(limits).length > 0 ? limits : undefined
}

/** What is set, as lines of a description. */
export function describeLimits({ setLimits }: Readonly<{ setLimits: SetLimits }>): readonly string[] {
  const { rates = {}, schedules = defaultSchedules, ...numbers } = setLimits
  const words = (pairs: object) =>
    Object.entries(pairs)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ') || 'as configured'
  return [`limits        ${words(numbers)}`, `rates         ${words(rates)}`, `schedules     ${schedules}`]
}
