import { reservedWords } from '../../contract/text/quote.ts'

/** Names of tables and columns, from those of a file. */

/** At most `maxBytes` long, so that a number can follow. */
export function tableNameOf(text: string, maxBytes = longestName): string {
  const plain = plainName(text)
  const lettered = /^[a-z]/.test(plain) ? plain : `table_${plain}`
  return (reservedWords.has(lettered) ? `${lettered}_t` : lettered).slice(0, maxBytes)
}

/** The name of a file without folder and ending. */
export const stemOf = (path: string) => {
  const base = path.replace(/^.*[/\\]/, '')
  const stem = base.replace(/\.(zip|gz)$/i, '').replace(/(?<=.)\.[a-z0-9]{1,10}$/i, '')
  return stem === '' ? base : stem
}

/** `taken`: names that the table has already. */
export function columnNamesOf(texts: readonly (string | null)[], taken: readonly string[] = []): string[] {
  const used = new Set([...systemColumns, ...taken])
  return texts.map((text, at) => {
    const plain = plainName(text ?? '').slice(0, longestName)
    const wanted = plain === '' || plain === '_' ? `column_${at + 1}` : plain
    const safe = /^\d/.test(wanted) || reservedWords.has(wanted) ? `_${wanted}`.slice(0, longestName) : wanted
    const name = freeName(safe, (candidate) => used.has(candidate))
    used.add(name)
    return name
  })
}

/** `name`, `name_1`, `name_2`, ... */
export function freeName(name: string, isTaken: (candidate: string) => boolean): string {
  let candidate = name
  for (let number = 1; isTaken(candidate); number++) candidate = numbered(name, number)
  return candidate
}

export const numbered = (name: string, number: number) => {
  const suffix = `_${number}`
  return name.slice(0, longestName - suffix.length) + suffix
}

/** Lower case, without accents; anything but letters, digits and `_` becomes `_`. */
function plainName(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/[^a-z0-9_]+/g, '_')
}

/** The limit of PostgreSQL, in bytes. */
const longestName = 63

const systemColumns = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid', 'oid']
