import { parseSize } from '../contract/text/sizes.ts'
import { UsageError } from './command-error.ts'

/** What the person gave for the options of a command. */
export type OptionValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

export const textOf = (values: OptionValues, option: string) => values[option] as string | undefined

/** For an option that may be repeated. */
export const listOf = (values: OptionValues, option: string) => (values[option] ?? []) as readonly string[]

export function wholeNumberOf(values: OptionValues, option: string): number | undefined {
  const value = textOf(values, option)
  if (value === undefined) return undefined
  if (/^\d{1,15}$/.test(value)) return Number(value)
  throw new UsageError(`--${option} must be a whole number`)
}

export function bytesOf(values: OptionValues, option: string): number | undefined {
  const value = textOf(values, option)
  if (value === undefined) return undefined
  const bytes = parseSize(value)
  if (bytes !== undefined) return bytes
  throw new UsageError(`--${option} must be a size such as 500MB, 10GB or 5000000 (bytes), or 'unlimited'`)
}
