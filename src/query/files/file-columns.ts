import { errors } from '../../errors.ts'
import type { Column } from '../rows/columns.ts'
import { builtInTypes } from '../rows/pg-types.ts'
import type { FileRules } from './file-rules.ts'

export type FileColumnKind =
  | 'short'
  | 'whole'
  | 'float'
  | 'numeric'
  | 'boolean'
  | 'date'
  | 'timestamp'
  | 'timestamptz'
  | 'text'

/** A column of a file, and what was seen of its values. */
export type FileColumn = {
  readonly place: number
  readonly name: string
  /** The name of the column in the query. */
  readonly queryName: string
  readonly kind: FileColumnKind
  /** A number that the format has no number for: the column is text. */
  isText: boolean
  nulls: number
  rounded: Seen
  cut: Seen
  blank: Seen
  longestBytes: number
  wholeDigits: number
  decimals: number
  /** Some of its decimals do not fit into the field. */
  isCutShort: boolean
}

/** How often, and in which row first. */
export type Seen = { count: number; row: number }

export function note(seen: Seen, row: number): void {
  if (seen.count === 0) seen.row = row
  seen.count += 1
}

/** The columns at these places, each with a name of its own. Other columns have the names in `taken`. */
export function fileColumns(
  format: string,
  columns: readonly Column[],
  places: readonly number[],
  rules: FileRules,
  taken: readonly string[],
): FileColumn[] {
  if (places.length > (rules.maxColumns ?? places.length))
    throw errors.valueUnfit(format, `more than ${rules.maxColumns} columns`)
  const used = new Set(taken)
  return places.map((place) => {
    const { name, typeOid } = columns[place]!
    // The converter's SQL cannot quote such names.
    if (/\p{Cc}|\\("|$)/u.test(name)) throw errors.valueUnfit(format, `the column name ${name}`)
    return {
      place,
      name: freeName(name, used, rules.nameBytes ?? Number.POSITIVE_INFINITY),
      queryName: name,
      kind: kinds.get(builtInTypes.get(typeOid)?.field.pgtype ?? '') ?? 'text',
      isText: false,
      nulls: 0,
      rounded: { count: 0, row: 0 },
      cut: { count: 0, row: 0 },
      blank: { count: 0, row: 0 },
      longestBytes: 0,
      wholeDigits: 0,
      decimals: 0,
      isCutShort: false,
    }
  })
}

/** For each column of a result, the column of the file; undefined: it is not written. */
export const columnsByPlace = (columns: readonly Column[], kept: readonly FileColumn[]) =>
  columns.map((_, place) => kept.find((column) => column.place === place))

const kinds: ReadonlyMap<string, FileColumnKind> = new Map([
  ['int2', 'short'],
  ['int4', 'short'],
  ['int8', 'whole'],
  ['oid', 'whole'],
  ['float4', 'float'],
  ['float8', 'float'],
  ['numeric', 'numeric'],
  ['bool', 'boolean'],
  ['date', 'date'],
  ['timestamp', 'timestamp'],
  ['timestamptz', 'timestamptz'],
])

/** Most formats take two names that differ in case for one. */
export function freeName(name: string, used: Set<string>, maxBytes = Number.POSITIVE_INFINITY): string {
  for (let count = 0; ; count += 1) {
    const ending = count === 0 ? '' : `_${count}`
    const free = cutBytes(name, maxBytes - ending.length) + ending
    if (used.has(free.toLowerCase())) continue
    used.add(free.toLowerCase())
    return free
  }
}

/** Never within a character. */
function cutBytes(text: string, maxBytes: number): string {
  let cut = text
  while (Buffer.byteLength(cut) > maxBytes) cut = [...cut].slice(0, -1).join('')
  return cut
}
