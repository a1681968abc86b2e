/** A number of bytes as people write it: `5000000`, `500MB`, `1.5 GB`, `unlimited`; units as in PostgreSQL, by 1024. */
export function parseSize(text: string): number | undefined {
  if (text === 'unlimited') return 0
  const [, number, unit = ''] = /^(\d{1,15}(?:\.\d{1,3})?) ?([kmgt]i?b?|b)?$/i.exec(text) ?? []
  const bytes = Math.floor(Number(number) * 1024 ** ('kmgt'.indexOf(unit.charAt(0).toLowerCase() || ' ') + 1))
  const isWhole = number !== undefined && (unit !== '' || !number.includes('.'))
  return isWhole && Number.isSafeInteger(bytes) ? bytes : undefined
}

/** The largest unit that shows it exactly. */
export function describeSize(bytes: number): string {
  const power = [4, 3, 2, 1].find((exponent) => bytes > 0 && bytes % 1024 ** exponent === 0) ?? 0
  return `${bytes / 1024 ** power} ${['bytes', 'kB', 'MB', 'GB', 'TB'][power]}`
}

/** The text of a quota, where 0 is no limit. Can be parsed again. */
export const describeQuota = (bytes: number) => (bytes === 0 ? 'unlimited' : describeSize(bytes))

/** Says how many keys a user may have: null is the configured limit, 0 is no limit. */
export function describeKeyQuota(keys: number | null): string {
  if (keys === null) return 'as configured'
  return keys === 0 ? 'unlimited' : `at most ${keys}`
}
