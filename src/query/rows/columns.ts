import { LRUCache } from 'lru-cache'
import { remembered } from '../../remembered.ts'

/** A column of a result, as the server describes it before the rows. `modifier` is the length or scale of its type; -1 if none was declared. */
export type Column = Readonly<{ name: string; typeOid: number; modifier: number; isBinary: boolean }>

/**
 * Reads RowDescriptions. Most repeat an earlier one: then the same list is returned, and data derived from it can be
 * reused.
 */
export class ColumnLists {
  readonly #known = new LRUCache<string, readonly Column[]>({ max: 500 })

  read(buffer: Buffer, start: number, end: number): readonly Column[] {
    if (end - start > longestKept) return readColumns(buffer, start)
    const description = buffer.toString('latin1', start, end)
    const known = this.#known.get(description)
    if (known) return known
    const columns = readColumns(buffer, start)
    this.#known.set(description, columns)
    return columns
  }
}

/** In bytes: limits what a tenant can make us cache. */
const longestKept = 1024

function readColumns(buffer: Buffer, start: number): Column[] {
  const count = buffer.readInt16BE(start)
  const columns: Column[] = []
  let at = start + 2
  for (let place = 0; place < count; place += 1) {
    const nameEnd = buffer.indexOf(0, at)
    const name = buffer.toString('utf8', at, nameEnd)
    // After the name: table (4), attribute (2), type (4), size (2), modifier (4), format (2).
    const typeOid = buffer.readUInt32BE(nameEnd + 7)
    const modifier = buffer.readInt32BE(nameEnd + 13)
    // Only rows fetched from a BINARY cursor are binary.
    const isBinary = buffer.readInt16BE(nameEnd + 17) !== 0
    columns.push({ name, typeOid, modifier, isBinary })
    at = nameEnd + 19
  }
  return columns
}

/** If columns have the same name, only the last is shown, as in an object; skipped columns are not shown. */
export function shownColumns(columns: readonly Column[], skipped: ReadonlySet<string>): readonly Column[] {
  return skipped.size === 0 ? allShown(columns) : onlyShown(columns, skipped)
}

const allShown = remembered((columns: readonly Column[]) => onlyShown(columns, new Set()))

function onlyShown(columns: readonly Column[], skipped: ReadonlySet<string>): readonly Column[] {
  const isShown = areShown(columns, skipped)
  return isShown.includes(false) ? columns.filter((_, place) => isShown[place]) : columns
}

/** What an object leaves out of columns with the same names; undefined: nothing. */
export function hiddenColumns(columns: readonly Column[]): string | undefined {
  const hidden = columns.length - allShown(columns).length
  return hidden === 0
    ? undefined
    : `${hidden} of ${columns.length} columns not shown: later ones have the same names`
}

export function areShown(columns: readonly Column[], skipped: ReadonlySet<string>): readonly boolean[] {
  const lastOfName = new Map(columns.map(({ name }, place) => [name, place]))
  return columns.map(({ name }, place) => lastOfName.get(name) === place && !skipped.has(name))
}
