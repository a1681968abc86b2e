import { useSignal, useSignalEffect } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { keepColumnWidth, settings } from '../api/settings.ts'
import { useActs } from '../parts/acts.ts'
import { copyText } from '../parts/copy-button.tsx'
import { toast } from '../parts/toast.tsx'
import { copySelection } from './clipboard.ts'
import { type Fonts, GridColumns } from './grid-columns.ts'
import { GridRows } from './grid-rows.ts'
import { moveSelection, type Place, rangeOf, type Selection } from './grid-selection.ts'
import { type GridState, GridView } from './grid-view.ts'
import type { Row } from './protocol.ts'
import type { Result } from './result.ts'
import type { ResultLook } from './result-look.ts'

type GridProps = Readonly<{ result: Result; look: ResultLook }>

type Parts = Readonly<{ view: GridView; rows: GridRows; columns: GridColumns }>

/** The rows of a result. Only the visible ones are drawn. */
export function Grid({ result, look }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const id = useId()
  const parts = useRef<Parts>(undefined)
  const isFitted = useRef(false)
  const size = useSignal({ rows: result.progress.value.rows, columns: result.progress.value.columns.length })

  const draw = (known: Parts, sampled?: readonly Row[]) => {
    const state = stateOf(id, result, look)
    if (sampled) known.columns.fit(state.columns, sampled, fontsOf(scroller.current!))
    known.view.show({ ...state, columns: state.columns.slice(0, known.columns.count) })
  }

  // Before the page is painted, so that the first rows are visible in the next frame.
  useLayoutEffect(() => {
    const columns = new GridColumns(settings.peek().columnWidths ?? {})
    const head = look.order.peek() ? [] : result.head
    const rows = new GridRows(result, head, () => parts.current?.view.plan())
    const view = new GridView(scroller.current!, rows, columns, stateOf(id, result, look))
    parts.current = { view, rows, columns }
    draw(parts.current, head)
    view.draw()
    const observer = new ResizeObserver(() => view.plan())
    observer.observe(scroller.current!)
    return () => observer.disconnect()
  }, [result])

  useSignalEffect(() => {
    const { rowCount, columns } = stateOf(id, result, look)
    size.value = { rows: rowCount, columns: columns.length }
    void show(columns.length, result.state.value !== 'running')
  })
  useSignalEffect(() => {
    const place = look.focus.value
    if (place && parts.current?.columns.count) parts.current.view.reveal(place.row, place.column)
  })

  /** Fits new columns, and all columns again when all rows have arrived. */
  const show = async (columnCount: number, isEnded: boolean) => {
    const known = parts.current
    if (!known) return
    if (look.takeReordered()) known.rows.forget()
    draw(known)
    if (columnCount === known.columns.count && (!isEnded || isFitted.current)) return
    isFitted.current = isEnded
    const rows = await sample(result)
    // The grid may be gone by now.
    if (scroller.current) draw(known, rows)
  }

  const resizeFocused = (by: number) => {
    const { column } = look.selection.value.focus
    const known = parts.current
    const about = result.progress.value.columns[column]
    if (!known || !about) return
    known.columns.resize(column, known.columns.width(column) + by)
    known.view.plan()
    void keepColumnWidth(about.name, known.columns.width(column))
  }

  return (
    <div class="grid">
      <div
        class="grid-scroll"
        ref={scroller}
        role="grid"
        tabIndex={0}
        aria-label="Rows"
        aria-rowcount={size.value.rows + 1}
        aria-colcount={size.value.columns + 1}
        aria-multiselectable="true"
        aria-activedescendant={`${id}-${look.selection.value.focus.row}-${look.selection.value.focus.column}`}
        onKeyDown={(event) => pressKey(event, result, look, parts.current?.view)}
        onPointerDown={(event) => beginPointer(event, result, look, parts.current)}
        onDblClick={(event) => placeOf(event) && look.open()}
      />
      <GridActs result={result} look={look} resize={resizeFocused} />
    </div>
  )
}

/** Some rows from the start, the middle and the end. */
async function sample(result: Result): Promise<readonly Row[]> {
  const { rows } = result.progress.peek()
  const places = [0, Math.floor(rows / 2), Math.max(0, rows - 30)]
  return (await Promise.all(places.map((from) => result.ask('rows', { from, count: 30 })))).flat()
}

function fontsOf(element: HTMLElement): Fonts {
  const { fontFamily } = getComputedStyle(element)
  return { cell: `13px ${fontFamily}`, header: `600 13px ${getComputedStyle(document.body).fontFamily}` }
}

function stateOf(id: string, { progress }: Result, look: ResultLook): GridState {
  const { rows, columns } = progress.value
  return { id, rowCount: rows, columns, selection: look.selection.value, order: look.order.value }
}

type ActsProps = GridProps & Readonly<{ resize: (by: number) => void }>

function GridActs({ result, look, resize }: ActsProps) {
  useActs([
    { name: 'Widen the column', keys: '>', run: () => resize(24) },
    { name: 'Narrow the column', keys: '<', run: () => resize(-24) },
    { name: 'Open the cell', run: () => look.open() },
    { name: 'Copy the selected cells', run: () => copy(result, look, false) },
  ])
  return null
}

function pressKey(event: KeyboardEvent, result: Result, look: ResultLook, view: GridView | undefined): void {
  if (!view || event.altKey) return
  const { rows, columns } = result.progress.value
  const isCopy = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'c'
  const moved = moveSelection(look.selection.value, event, {
    rows,
    columns: columns.length,
    pageRows: view.pageRows,
  })
  if (isCopy) void copy(result, look, event.shiftKey)
  else if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) look.open()
  else if (moved && rows > 0) look.select(moved)
  else return
  event.preventDefault()
}

export async function copy(result: Result, look: ResultLook, withHeader: boolean): Promise<void> {
  try {
    const range = rangeOf(look.selection.value)
    await copyText(await copySelection(result, range, withHeader ? 'TSV with header' : 'TSV'), 'Copied')
  } catch (error) {
    toast((error as Error).message)
  }
}

function beginPointer(event: PointerEvent, result: Result, look: ResultLook, parts: Parts | undefined): void {
  if (event.button !== 0 || !parts) return
  const header = (event.target as Element).closest<HTMLElement>('[role="columnheader"][data-column]')
  if (header) pressHeader(event, header, { result, look, ...parts })
  const place = placeOf(event)
  if (!place) return
  const anchor = event.shiftKey ? look.selection.value.anchor : place
  const grid = event.currentTarget as HTMLElement
  look.select({ anchor, focus: place })
  const drag = (moved: PointerEvent) => {
    const over = placeOf(moved)
    if (over) look.select({ anchor, focus: over } satisfies Selection)
  }
  grid.addEventListener('pointermove', drag)
  addEventListener('pointerup', () => grid.removeEventListener('pointermove', drag), { once: true })
}

/** Dragging the right edge resizes the column; a click elsewhere sorts. */
function pressHeader(
  event: PointerEvent,
  header: HTMLElement,
  { result, look, view, columns }: Parts & GridProps,
): void {
  const column = Number(header.dataset.column)
  const { right } = header.getBoundingClientRect()
  if (event.clientX < right - 7) return void look.sortBy(column)
  const width = columns.width(column)
  const drag = (moved: PointerEvent) => {
    columns.resize(column, width + moved.clientX - event.clientX)
    view.plan()
  }
  addEventListener('pointermove', drag)
  const finish = () => {
    removeEventListener('pointermove', drag)
    void keepColumnWidth(result.progress.value.columns[column]!.name, columns.width(column))
  }
  addEventListener('pointerup', finish, { once: true })
  event.preventDefault()
}

function placeOf(event: Event): Place | undefined {
  const cell = (event.target as Element).closest<HTMLElement>('[role="gridcell"]')
  return cell ? { row: Number(cell.dataset.row), column: Number(cell.dataset.column) } : undefined
}
