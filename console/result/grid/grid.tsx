import { useSignalEffect } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { keepColumnWidth, settings } from '../../api/settings.ts'
import { useCommands } from '../../parts/commands.ts'
import { copyText } from '../../parts/controls/copy-button.tsx'
import { toast } from '../../parts/toast.tsx'
import type { Result } from '../result.ts'
import type { ResultLook } from '../result-look.ts'
import type { ResultColumn, ResultRow } from '../worker/protocol.ts'
import { copySelection } from './clipboard.ts'
import { type Fonts, GridColumns } from './grid-columns.ts'
import { GridRows } from './grid-rows.ts'
import { type CellPosition, type CellSelection, moveSelection } from './grid-selection.ts'
import { type GridState, GridView } from './grid-view.ts'

type GridProps = Readonly<{ result: Result; look: ResultLook }>

type Parts = Readonly<{ view: GridView; rows: GridRows; columns: GridColumns }>

/** The rows of a result. Only the visible ones are drawn. */
export function Grid({ result, look }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const id = useId()
  const parts = useParts(id, scroller, { result, look })
  const { rows, columns } = result.progress.value
  const { row, column } = look.selection.value.focus
  return (
    <div class="grid">
      <div
        class="grid-scroll"
        ref={scroller}
        role="grid"
        tabIndex={0}
        aria-label="Rows"
        aria-rowcount={rows + 1}
        aria-colcount={columns.length + 1}
        aria-multiselectable="true"
        aria-activedescendant={`${id}-${row}-${column}`}
        onKeyDown={(event) => pressKey(event, result, look, parts.current?.view)}
        onPointerDown={(event) => beginPointer(event, result, look, parts.current)}
        onDblClick={(event) => placeOf(event) && look.open()}
      />
      <GridCommands
        result={result}
        look={look}
        resize={(by) => resizeFocused(parts.current, result, look, by)}
      />
    </div>
  )
}

/** Builds the grid in its element, and draws it again when the result or its look changes. */
function useParts(
  id: string,
  scroller: Readonly<{ current: HTMLDivElement | null }>,
  { result, look }: GridProps,
) {
  const parts = useRef<Parts>(undefined)
  const isFitted = useRef(false)
  const drawnTypes = useRef('')
  const draw = (known: Parts, sampled?: readonly ResultRow[]) => {
    const state = stateOf(id, result, look)
    known.columns.hide(state.hidden)
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
    // The types of the first rows may have been a guess.
    if (result.state.peek() !== 'running') rows.renew()
    draw(parts.current, head)
    view.draw()
    const observer = new ResizeObserver(() => view.plan())
    observer.observe(scroller.current!)
    return () => observer.disconnect()
  }, [result])
  useSignalEffect(() => {
    const { columns } = stateOf(id, result, look)
    void show(columns, result.state.value !== 'running')
  })
  useSignalEffect(() => {
    const place = look.focus.value
    if (place && parts.current?.columns.count) parts.current.view.reveal(place.row, place.column)
  })
  /** Fits new columns, and all columns again when all rows have arrived. */
  const show = async (found: readonly ResultColumn[], isEnded: boolean) => {
    const known = parts.current
    if (!known) return
    if (look.takeReordered()) known.rows.forget()
    const types = found.map(({ pgtype, type }) => pgtype ?? type).join()
    if (drawnTypes.current !== types && drawnTypes.current) known.rows.renew()
    drawnTypes.current = types
    draw(known)
    if (found.length === known.columns.count && (!isEnded || isFitted.current)) return
    isFitted.current = isEnded
    const rows = await sample(result)
    // The grid may be gone by now.
    if (scroller.current) draw(known, rows)
  }
  return parts
}

function resizeFocused(parts: Parts | undefined, result: Result, look: ResultLook, by: number): void {
  const { column } = look.selection.value.focus
  const about = result.progress.value.columns[column]
  if (!parts || !about) return
  parts.columns.resize(column, parts.columns.width(column) + by)
  parts.view.plan()
  void keepColumnWidth(about.name, parts.columns.width(column))
}

/** Some rows from the start, the middle and the end. */
async function sample(result: Result): Promise<readonly ResultRow[]> {
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
  return {
    id,
    rowCount: rows,
    columns,
    hidden: look.hidden.value,
    selection: look.selection.value,
    order: look.order.value,
  }
}

type CommandsProps = GridProps & Readonly<{ resize: (by: number) => void }>

function GridCommands({ result, look, resize }: CommandsProps) {
  useCommands([
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
    hidden: look.hidden.value,
  })
  if (isCopy) void copy(result, look, event.shiftKey)
  else if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) look.open()
  else if (moved && rows > 0) look.select(moved)
  else return
  event.preventDefault()
}

export async function copy(result: Result, look: ResultLook, withHeader: boolean): Promise<void> {
  try {
    await copyText(await copySelection(result, look, withHeader ? 'TSV with header' : 'TSV'), 'Copied')
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
    if (over) look.select({ anchor, focus: over } satisfies CellSelection)
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

function placeOf(event: Event): CellPosition | undefined {
  const cell = (event.target as Element).closest<HTMLElement>('[role="gridcell"]')
  return cell ? { row: Number(cell.dataset.row), column: Number(cell.dataset.column) } : undefined
}
