import type { ResultColumn, ResultOrder } from '../worker/protocol.ts'
import { type GridColumns, inOneLine } from './grid-columns.ts'
import type { GridRows } from './grid-rows.ts'
import { type CellSelection, isWithin, rangeOf } from './grid-selection.ts'

export const rowHeight = 26
const headerHeight = 30
/**
 * Browsers limit the height of an element to some ten million pixels. Beyond that, rows share pixels of the scroll bar.
 */
const tallest = 8_000_000

export type GridState = Readonly<{
  id: string
  rowCount: number
  columns: readonly ResultColumn[]
  hidden: ReadonlySet<number>
  selection: CellSelection
  order: ResultOrder | null
}>

/** Draws the visible part of a grid and reuses its elements. */
export class GridView {
  readonly #scroller: HTMLElement
  readonly #spacer: HTMLElement
  readonly #layer: HTMLElement
  readonly #header: HTMLElement
  readonly #body: HTMLElement
  readonly #rows: GridRows
  readonly #columns: GridColumns
  /** The position of the first column; negative if it is scrolled out of view. */
  #columnsFrom = 0
  #isPlanned = false
  #state: GridState

  constructor(scroller: HTMLElement, rows: GridRows, columns: GridColumns, state: GridState) {
    this.#scroller = scroller
    this.#rows = rows
    this.#columns = columns
    this.#state = state
    this.#spacer = make('div', 'grid-spacer')
    this.#layer = make('div', 'grid-layer')
    this.#header = make('div', 'grid-row grid-header', { role: 'row', 'aria-rowindex': '1' })
    this.#body = make('div', 'grid-body', { role: 'rowgroup' })
    const head = make('div', '', { role: 'rowgroup' })
    head.append(this.#header)
    this.#layer.append(head, this.#body)
    scroller.replaceChildren(this.#spacer, this.#layer)
    scroller.addEventListener('scroll', () => this.plan(), { passive: true })
  }

  get pageRows(): number {
    return Math.max(1, Math.floor((this.#scroller.clientHeight - headerHeight) / rowHeight) - 1)
  }

  /** Wide enough for the number of the last row. */
  get gutter(): number {
    return Math.max(44, String(this.#state.rowCount).length * 8 + 20)
  }

  show(state: GridState): void {
    this.#state = state
    this.plan()
  }

  /** Draws once before the next frame. */
  plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    requestAnimationFrame(() => {
      this.#isPlanned = false
      this.draw()
    })
  }

  /** Scrolls a cell into view. */
  reveal(row: number, column: number): void {
    const scroller = this.#scroller
    const first = this.#firstRow()
    const whole = this.pageRows
    if (row < first + 0.01) scroller.scrollTop = this.#topOf(row)
    else if (row >= first + whole) scroller.scrollTop = this.#topOf(row - whole + 0.5)
    const [left, width] = [this.#columns.offset(column), this.#columns.width(column)]
    const seen = scroller.clientWidth - this.gutter
    if (left < scroller.scrollLeft) scroller.scrollLeft = left
    else if (left + width > scroller.scrollLeft + seen)
      scroller.scrollLeft = Math.min(left, left + width - seen)
    this.plan()
  }

  get #fullHeight(): number {
    return this.#state.rowCount * rowHeight
  }

  /** Pixels of rows per pixel of the scroll bar. */
  get #scale(): number {
    if (this.#fullHeight <= tallest) return 1
    const seen = this.#scroller.clientHeight - headerHeight
    return (this.#fullHeight - seen) / (tallest - seen)
  }

  #firstRow(): number {
    return (this.#scroller.scrollTop * this.#scale) / rowHeight
  }

  #topOf(row: number): number {
    return (row * rowHeight) / this.#scale
  }

  /** Reads the layout before it changes anything: reading in between would force a new layout each time. */
  draw(): void {
    const { clientWidth, clientHeight, scrollLeft } = this.#scroller
    const { rowCount } = this.#state
    const first = this.#firstRow()
    this.#columnsFrom = this.gutter - scrollLeft
    this.#spacer.style.height = `${Math.min(this.#fullHeight, tallest) + headerHeight}px`
    this.#spacer.style.width = `${this.#columns.totalWidth + this.gutter}px`
    this.#layer.style.width = `${clientWidth}px`
    this.#layer.style.height = `${clientHeight}px`
    const top = Math.max(0, Math.floor(first))
    const bottom = Math.min(rowCount, top + Math.ceil(clientHeight / rowHeight) + 1)
    const [from, to] = this.#columns.between(scrollLeft, scrollLeft + clientWidth)
    const shown: number[] = []
    for (let column = from; column < to; column++) if (!this.#columns.isHidden(column)) shown.push(column)
    this.#drawHeader(shown)
    fill(this.#body, Math.max(0, bottom - top), () => make('div', 'grid-row', { role: 'row' }))
    for (let row = top; row < bottom; row++) {
      const element = this.#body.children[row - top] as HTMLElement
      element.style.transform = `translateY(${(row - first) * rowHeight}px)`
      element.setAttribute('aria-rowindex', String(row + 2))
      this.#drawRow(element, row, shown)
    }
  }

  #drawHeader(shown: readonly number[]): void {
    const { columns, order, id } = this.#state
    fill(this.#header, shown.length + 1, () => make('div', 'grid-cell'))
    this.#drawGutter(this.#header.children[0] as HTMLElement, '#', 'columnheader')
    for (const [at, column] of shown.entries()) {
      const cell = this.#header.children[at + 1] as HTMLElement
      const { name, pgtype, type } = columns[column]!
      const sign = order?.column === column ? (order.isDescending ? ' ▾' : ' ▴') : ''
      this.#placeCell(cell, column)
      cell.className = `grid-cell${type === 'number' ? ' number' : ''}`
      cell.id = `${id}-head-${column}`
      cell.title = `${name}: ${typeNames[pgtype ?? ''] ?? pgtype ?? type}`
      setText(cell, name + sign)
      setAttributes(cell, {
        role: 'columnheader',
        'data-column': String(column),
        'aria-colindex': String(column + 2),
      })
      if (sign) cell.setAttribute('aria-sort', order?.isDescending ? 'descending' : 'ascending')
      else cell.removeAttribute('aria-sort')
    }
  }

  #drawRow(element: HTMLElement, row: number, shown: readonly number[]): void {
    const { columns, selection, id } = this.#state
    const values = this.#rows.get(row)
    const range = rangeOf(selection)
    fill(element, shown.length + 1, () => make('div', 'grid-cell'))
    this.#drawGutter(element.children[0] as HTMLElement, String(row + 1), 'rowheader')
    for (const [at, column] of shown.entries()) {
      const cell = element.children[at + 1] as HTMLElement
      const value = values?.[column]
      const isOfLines = value?.includes('\n') ?? false
      const isSelected = isWithin(range, row, column)
      const isFocus = selection.focus.row === row && selection.focus.column === column
      this.#placeCell(cell, column)
      setText(cell, value === null ? 'NULL' : isOfLines ? inOneLine(value!) : (value ?? ''))
      cell.title = isOfLines ? 'Several lines: press Enter to read them' : ''
      cell.id = `${id}-${row}-${column}`
      cell.className = [
        'grid-cell',
        columns[column]!.type === 'number' ? 'number' : '',
        value === null ? 'null' : '',
        isOfLines ? 'lines' : '',
        isSelected ? 'selected' : '',
        isFocus ? 'focus' : '',
      ].join(' ')
      setAttributes(cell, {
        role: 'gridcell',
        'data-row': String(row),
        'data-column': String(column),
        'aria-colindex': String(column + 2),
        'aria-selected': String(isSelected),
      })
    }
  }

  #drawGutter(cell: HTMLElement, text: string, role: string): void {
    cell.className = 'grid-cell gutter'
    cell.style.width = `${this.gutter}px`
    cell.style.transform = ''
    setText(cell, text)
    setAttributes(cell, { role, 'aria-colindex': '1' })
  }

  #placeCell(cell: HTMLElement, column: number): void {
    cell.style.width = `${this.#columns.width(column)}px`
    cell.style.transform = `translateX(${this.#columnsFrom + this.#columns.offset(column)}px)`
  }
}

/** The type of a time says whether it has a zone. */
const typeNames: Readonly<Record<string, string>> = {
  timestamp: 'timestamp without time zone',
  timestamptz: 'timestamp with time zone',
}

function make(tag: string, className: string, attributes: Record<string, string> = {}): HTMLElement {
  const element = document.createElement(tag)
  element.className = className
  setAttributes(element, attributes)
  return element
}

function setAttributes(element: HTMLElement, attributes: Record<string, string>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value)
  }
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

function fill(parent: HTMLElement, count: number, create: () => HTMLElement): void {
  while (parent.children.length < count) parent.append(create())
  while (parent.children.length > count) parent.lastElementChild!.remove()
}
