import { useRef } from 'preact/hooks'
import type { DashboardPart, PartPlace } from '../../src/contract/dashboards.ts'
import { Menu, type MenuItem } from '../parts/controls/menu.tsx'
import { tell } from '../parts/live.tsx'
import { titleOf } from '../result/shown-dashboard/shown-part.tsx'
import { type Direction, placed, stepped } from './layout.ts'

type PartActsProps = Readonly<{
  part: DashboardPart
  parts: readonly DashboardPart[]
  change: (parts: readonly DashboardPart[]) => void
  edit: () => void
}>

/** The ways to move, resize, change and remove a part: by drag, by arrow keys, and by a menu. */
export function PartActs(props: PartActsProps) {
  const { part, parts, change } = props
  const label = titleOf(part)
  const show = (next: readonly DashboardPart[]) => {
    change(next)
    tell(describe(next.find(({ id }) => id === part.id)!))
  }
  const step = (direction: Direction) => show(stepped(parts, part.id, direction))
  const size = (columns: number, rows: number) =>
    show(placed(parts, part.id, { w: part.w + columns, h: part.h + rows }))
  return (
    <>
      <Handle
        class="part-move"
        label={`Move ${label}`}
        sign="✥"
        step={step}
        drag={dragOf(props, ({ x, y }, columns, rows) => ({ x: x + columns, y: y + rows }))}
      />
      <Handle
        class="part-resize"
        label={`Resize ${label}`}
        sign="⤡"
        step={(direction) => size(...growth[direction])}
        drag={dragOf(props, ({ w, h }, columns, rows) => ({ w: w + columns, h: h + rows }))}
      />
      <Menu label="⋯" title={`Change ${label}`} className="quiet square" items={itemsOf(props, step, size)} />
    </>
  )
}

const growth: Readonly<Record<Direction, readonly [columns: number, rows: number]>> = {
  left: [-1, 0],
  right: [1, 0],
  up: [0, -1],
  down: [0, 1],
}

const describe = ({ x, y, w, h }: PartPlace) =>
  `Column ${x + 1}, row ${y + 1}, ${w} columns wide, ${h} rows high`

function itemsOf(
  { part, parts, change, edit }: PartActsProps,
  step: (direction: Direction) => void,
  size: (columns: number, rows: number) => void,
): readonly MenuItem[] {
  return [
    { label: 'Edit…', run: edit },
    'line',
    { label: 'Move left', run: () => step('left') },
    { label: 'Move right', run: () => step('right') },
    { label: 'Move up', run: () => step('up') },
    { label: 'Move down', run: () => step('down') },
    'line',
    { label: 'Wider', run: () => size(1, 0) },
    { label: 'Narrower', run: () => size(-1, 0) },
    { label: 'Taller', run: () => size(0, 1) },
    { label: 'Shorter', run: () => size(0, -1) },
    'line',
    { label: 'Remove', isDanger: true, run: () => change(parts.filter(({ id }) => id !== part.id)) },
  ]
}

/** Called with the columns and rows moved since the drag began. */
type Drag = (columns: number, rows: number) => void

/** From the places at the start of the drag: parts that were pushed away come back. */
function dragOf(
  { part, parts, change }: PartActsProps,
  to: (from: PartPlace, columns: number, rows: number) => Partial<PartPlace>,
): () => Drag {
  return () => (columns, rows) => change(placed(parts, part.id, to(part, columns, rows)))
}

type HandleProps = Readonly<{
  class: string
  label: string
  sign: string
  step: (direction: Direction) => void
  drag: () => Drag
}>

function Handle({ class: name, label, sign, step, drag }: HandleProps) {
  const dragged = useRef<Readonly<{ by: Drag; from: PointerEvent; scrolled: number }> | undefined>(undefined)
  const begin = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    if (event.button !== 0 || !isGrid(event.currentTarget)) return
    event.currentTarget.setPointerCapture(event.pointerId)
    dragged.current = { by: drag(), from: event, scrolled: scrollOf(event.currentTarget) }
  }
  const move = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    if (!dragged.current) return
    const { by, from, scrolled } = dragged.current
    const { column, row } = cellOf(event.currentTarget)
    const down = event.clientY - from.clientY + scrollOf(event.currentTarget) - scrolled
    by(Math.round((event.clientX - from.clientX) / column), Math.round(down / row))
  }
  const end = () => {
    dragged.current = undefined
  }
  return (
    <button
      type="button"
      class={`quiet square ${name}`}
      aria-label={label}
      title={`${label}: drag, or arrow keys`}
      onPointerDown={begin}
      onPointerMove={move}
      onPointerUp={end}
      onPointerCancel={end}
      onKeyDown={(event) => {
        const direction = directions[event.key]
        if (!direction) return
        event.preventDefault()
        step(direction)
      }}
    >
      <span aria-hidden="true">{sign}</span>
    </button>
  )
}

const directions: Readonly<Record<string, Direction>> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
}

const gridOf = (element: HTMLElement) => element.closest<HTMLElement>('.dashboard-grid')!
const scrollOf = (element: HTMLElement) => element.closest('.page')?.scrollTop ?? 0

/** On a narrow screen the parts are in one column and cannot be dragged. */
const isGrid = (element: HTMLElement) => getComputedStyle(gridOf(element)).display === 'grid'

/** The size of a cell, with the gap after it. */
function cellOf(element: HTMLElement): Readonly<{ column: number; row: number }> {
  const grid = gridOf(element)
  const { columnGap, rowGap, gridAutoRows } = getComputedStyle(grid)
  const gap = Number.parseFloat(columnGap)
  return {
    column: (grid.clientWidth + gap) / 12,
    row: Number.parseFloat(gridAutoRows) + Number.parseFloat(rowGap),
  }
}
