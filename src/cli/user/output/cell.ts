import { type RawMember, shownValue } from '../../../contract/text/json-rows.ts'
import { printable } from '../../printable.ts'

/** A row for display: the names of its columns and their values. */
export type Cells = Readonly<{ names: readonly string[]; cells: readonly Cell[] }>
export type Cell = Readonly<{ text: string; isNull: boolean; isNumber: boolean }>

export function cellsOf(members: readonly RawMember[]): Cells {
  return { names: members.map(([name]) => name), cells: members.map(([, raw]) => cellOf(raw)) }
}

export function cellOf(raw: string): Cell {
  const value = shownValue(raw)
  return { text: value ?? 'NULL', isNull: value === null, isNumber: /^[-\d]/.test(raw) }
}

/** In one line and without control characters. */
export const oneLine = (text: string) =>
  isPlain.test(text) ? text : printable(text.replaceAll('\r\n', '↵').replaceAll('\n', '↵'))

/** The number of terminal columns of a text. Call loadWidths first. */
export const widthOf = (text: string) => (isPlain.test(text) ? text.length : stringWidth(text))

/** Loads the table of character widths. That takes a while, so it is done only when rows are shown. */
export async function loadWidths(): Promise<void> {
  stringWidth = (await import('string-width')).default
}

let stringWidth = (text: string) => text.length

const isPlain = /^[\x20-\x7e]*$/

/** Cuts a text to `width` columns; the last one is then `…`. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  if (isPlain.test(text)) return `${text.slice(0, width - 1)}…`
  let cut = ''
  let taken = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += widthOf(segment)
    if (taken > width - 1) break
    cut += segment
  }
  return `${cut}…`
}
