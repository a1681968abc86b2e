import { parseSize } from '../contract/text/sizes.ts'
import { type OptionValues, UsageError } from './command.ts'

export function sizeInBytes(option: string, value: OptionValues[string]): number | undefined {
  if (value === undefined) return undefined
  const bytes = parseSize(String(value))
  if (bytes !== undefined) return bytes
  throw new UsageError(`--${option} must be a size such as 500MB, 10GB or 5000000 (bytes), or 'unlimited'`)
}
