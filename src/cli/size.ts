import { type OptionValues, UsageError } from './command.ts'

/** A number of bytes as people write it: `5000000`, `500MB`, `1.5 GB`; units as in PostgreSQL, by 1024. */
export function sizeInBytes(option: string, value: OptionValues[string]): number | undefined {
  if (value === undefined) return undefined
  if (value === 'unlimited') return 0
  const [, number, unit = ''] = /^(\d{1,15}(?:\.\d{1,3})?) ?([kmgt]i?b?|b)?$/i.exec(String(value)) ?? []
  const bytes = Math.floor(Number(number) * 1024 ** ('kmgt'.indexOf(unit.charAt(0).toLowerCase() || ' ') + 1))
  const isWhole = number !== undefined && (unit !== '' || !number.includes('.'))
  if (isWhole && Number.isSafeInteger(bytes)) return bytes
  throw new UsageError(`--${option} must be a size such as 500MB, 10GB or 5000000 (bytes), or 'unlimited'`)
}

/** The largest unit that shows it exactly. */
export function describeSize(bytes: number): string {
  const power = [4, 3, 2, 1].find((exponent) => bytes > 0 && bytes % 1024 ** exponent === 0) ?? 0
  return `${bytes / 1024 ** power} ${['bytes', 'kB', 'MB', 'GB', 'TB'][power]}`
}
