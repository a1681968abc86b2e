import { type RawMember, shownValue } from '../../../contract/text/json-rows.ts'
import { printable } from '../../printable.ts'

/** A row as people read it: the names of its columns and what stands in them. */
export type Cells = Readonly<{ names: readonly string[]; cells: readonly Cell[] }>
export type Cell = Readonly<{ text: string; isNull: boolean; isNumber: boolean }>

export function cellsOf(members: readonly RawMember[]): Cells {
  return { names: members.map(([name]) => name), cells: members.map(([, raw]) => cellOf(raw)) }
}

export function cellOf(raw: string): Cell {
  const value = shownValue(raw)
  return { text: value ?? 'NULL', isNull: value === null, isNumber: /^[-\d]/.test(raw) }
}

/** In one line, harmless to the terminal. */
export const oneLine = (text: string) =>
  isPlain.test(text) ? text : printable(text.replaceAll('\r\n', '↵').replaceAll('\n', '↵'))

/** How many places it takes on a terminal; loadWidths comes first. */
export const widthOf = (text: string) => (isPlain.test(text) ? text.length : stringWidth(text))

/** What knows all emojis takes a while to load, so it waits until rows are shown. */
export async function loadWidths(): Promise<void> {
  stringWidth = (await import('string-width')).default
}

let stringWidth = (text: string) => text.length

const isPlain = /^[\x20-\x7e]*$/

/** Cut to so many places, with a sign that it was. */
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
