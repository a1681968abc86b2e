/** Names of columns as one text: `a,b`. A name with a comma, a quotation mark or outer spaces stands in quotes: `"a,b"`. */
export const joinNames = (names: readonly string[]): string =>
  names.map((name) => (/[",]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)).join(',')

/** More than PostgreSQL keeps of a name, and more than layers and sheets have. */
export const longestName = 1_000

/** The names in such a text. Undefined if it is no such list, or one of more than `most`. */
export function splitNames(text: string, most: number): readonly string[] | undefined {
  if (text.length > most * longestName) return undefined
  const parts = partsOf(text, most + 1).map((part) => part.trim())
  const isList = parts.length <= most && parts.every((part) => /^(?:"(?:[^"]|"")+"|[^"]+)$/.test(part))
  if (!isList) return undefined
  return parts.map((part) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part))
}

/** The first parts between commas that are outside quotation marks. */
function partsOf(text: string, most: number): string[] {
  const parts: string[] = []
  let from = 0
  let isQuoted = false
  for (let at = 0; at < text.length && parts.length < most; at++) {
    if (text[at] === '"') isQuoted = !isQuoted
    if (text[at] !== ',' || isQuoted) continue
    parts.push(text.slice(from, at))
    from = at + 1
  }
  return [...parts, text.slice(from)]
}
