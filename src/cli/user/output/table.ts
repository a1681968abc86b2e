import { membersOf } from '../../../contract/text/json-rows.ts'
import type { OutputStream } from '../../terminal.ts'
import { type Cell, type Cells, cellsOf, cutTo, loadWidths, oneLine, widthOf } from './cell.ts'
import { recordText } from './record.ts'

/** How rows are shown. Without a terminal `columns` is infinite. */
export type TableStyle = Readonly<{
  columns: number
  style: OutputStream['style']
  /** Columns that must not be cut. Numbers never are. */
  whole?: readonly string[]
  /** Called once if the rows are too wide for a table. */
  onRecords: () => void
}>

/** Batches of rows as JSON text. `fields` is complete when the rows have ended. */
export type Rows = Readonly<{
  texts: AsyncIterable<readonly string[]>
  fields: () => Readonly<Record<string, Readonly<{ type: string }>>>
}>

/** Rows as a table. The first 1,000 rows set the widths; all later ones are streamed. */
export async function* tableText({ texts, fields }: Rows, look: TableStyle): AsyncGenerator<string> {
  await loadWidths()
  let section: TableSection | undefined
  for await (const batch of texts) {
    let text = ''
    for (const row of batch) {
      const cells = cellsOf(membersOf(row))
      // The statements of one text may return different columns.
      if (section && !section.fits(cells)) {
        text += `${section.end()}\n`
        section = undefined
      }
      section ??= new TableSection(cells.names, look)
      text += section.add(cells)
    }
    if (text) yield text
  }
  const names = Object.keys(fields())
  if (!section && names.length > 0) section = new TableSection(names, look)
  if (section) yield section.end(fields())
}

/** Consecutive rows with the same columns. */
class TableSection {
  readonly #names: readonly string[]
  readonly #look: TableStyle
  #waiting: Cells[] = []
  #layout: Layout | 'records' | undefined
  #count = 0

  constructor(names: readonly string[], look: TableStyle) {
    this.#names = names
    this.#look = look
  }

  fits({ names }: Cells): boolean {
    return names.length === this.#names.length && names.every((name, place) => name === this.#names[place])
  }

  add(row: Cells): string {
    if (this.#layout !== undefined) return this.#write(row)
    this.#waiting.push(row)
    return this.#waiting.length < rowsForWidths ? '' : this.#begin()
  }

  end(fields: Readonly<Record<string, Readonly<{ type: string }>>> = {}): string {
    return this.#layout === undefined ? this.#begin(fields) : ''
  }

  #begin(fields: Readonly<Record<string, Readonly<{ type: string }>>> = {}): string {
    const numbers = this.#names.map((name, place) =>
      name in fields
        ? fields[name]!.type === 'number'
        : this.#waiting.every(({ cells }) => cells[place]!.isNumber || cells[place]!.isNull) &&
          this.#waiting.some(({ cells }) => cells[place]!.isNumber),
    )
    const layout = layOut(this.#names, this.#waiting, numbers, this.#look)
    this.#layout = layout ?? 'records'
    if (!layout) this.#look.onRecords()
    const rows = this.#waiting.map((row) => this.#write(row)).join('')
    this.#waiting = []
    return (layout ? headText(this.#names, layout) : '') + rows
  }

  #write(row: Cells): string {
    this.#count++
    if (this.#layout === 'records') return recordText(row, this.#count, this.#look.style)
    return rowText(row.cells, this.#layout!, this.#look.style)
  }
}

const rowsForWidths = 1_000
const narrowest = 9

type ColumnLayout = Readonly<{ width: number; isNumber: boolean }>
type Layout = Readonly<{ columns: readonly ColumnLayout[]; isBounded: boolean }>

/** The widths of the columns; undefined if the table is too wide even with all text cut. Numbers are never cut. */
function layOut(
  names: readonly string[],
  rows: readonly Cells[],
  numbers: readonly boolean[],
  { columns: edge, whole = [] }: TableStyle,
): Layout | undefined {
  const natural = names.map((name, place) =>
    rows.reduce(
      (widest, { cells }) => Math.max(widest, widthOf(oneLine(cells[place]!.text))),
      widthOf(oneLine(name)),
    ),
  )
  // A space after text keeps it off the line between columns.
  const widths = natural.map((width, place) => (numbers[place] ? width : width + 1))
  const isRigid = names.map((name, place) => numbers[place]! || whole.includes(name))
  const room = edge - (3 * names.length - 2)
  const sumUnder = (limit: number) =>
    widths.reduce((sum, width, place) => sum + (isRigid[place] ? width : Math.min(width, limit)), 0)
  let limit = Math.max(narrowest, ...widths)
  while (limit > narrowest && sumUnder(limit) > room) limit--
  if (sumUnder(limit) > room) return undefined
  const columns = widths.map((width, place) => {
    const isNumber = numbers[place]!
    return { width: isRigid[place] ? width : Math.min(width, limit), isNumber }
  })
  return { columns, isBounded: edge < Number.POSITIVE_INFINITY }
}

function headText(names: readonly string[], layout: Layout): string {
  const heads = names.map((name) => ({ text: name, isNull: false, isNumber: false }))
  const last = layout.columns.length - 1
  const rule = layout.columns.map(({ width }, place) => '─'.repeat(width + (place === last ? 1 : 2)))
  return `${rowText(heads, layout, (_style, text) => text)}${rule.join('┼')}\n`
}

function rowText(
  cells: readonly Cell[],
  { columns, isBounded }: Layout,
  style: OutputStream['style'],
): string {
  const parts = cells.map(({ text, isNull }, place) => {
    const { width, isNumber } = columns[place]!
    const line = oneLine(text)
    const shown = isBounded && !isNumber ? cutTo(line, Math.max(width - 1, 1)) : line
    const space = ' '.repeat(Math.max(0, width - widthOf(shown)))
    const styled = isNull ? style('dim', shown) : shown
    const isLast = place === columns.length - 1
    return isNumber ? ` ${space}${styled}` : ` ${styled}${isLast ? '' : space}`
  })
  return `${parts.join(' │').trimEnd()}\n`
}
