import { useRef, useState } from 'preact/hooks'
import { formatCount, formatDuration } from '../../parts/format.ts'
import type { PlanLine } from './plan.ts'

type ShownLine = Readonly<{ line: PlanLine; at: number }>

const mostLines = 500

/** The nodes of a plan as ARIA describes a tree with columns: one tab stop, moved with arrow keys. */
export function PlanTree({ lines }: Readonly<{ lines: readonly PlanLine[] }>) {
  const body = useRef<HTMLTableSectionElement>(null)
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set())
  const [stop, setStop] = useState(0)
  const open = openLines(lines, closed)
  const shown = open.slice(0, mostLines)
  const isMet = lines.some(({ met }) => met)
  const toggle = (at: number) => {
    const next = new Set(closed)
    if (!next.delete(at)) next.add(at)
    setClosed(next)
  }
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const pressed = [...body.current!.children].indexOf(event.target as Element)
    const to = keyOf(event.key, shown, pressed, closed, toggle)
    if (to === undefined) return
    event.preventDefault()
    event.stopPropagation()
    const row = body.current?.children[to] as HTMLElement | undefined
    row?.focus()
  }
  const stopAt = shown.some(({ at }) => at === stop) ? stop : 0
  return (
    <div class="scroll-x">
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: as the treegrid of ARIA's own guide */}
      <table class="list" role="treegrid" aria-label="Plan">
        <Head isMet={isMet} />
        <tbody ref={body} onKeyDown={press}>
          {shown.map(({ line, at }) => (
            <Node
              key={at}
              line={line}
              isOpen={line.hasChildren ? !closed.has(at) : undefined}
              isStop={at === stopAt}
              isMet={isMet}
              toggle={() => toggle(at)}
              stopHere={() => setStop(at)}
            />
          ))}
        </tbody>
      </table>
      {open.length > mostLines && (
        <p class="muted">
          {formatCount(open.length - mostLines)} more nodes not shown: collapse some, or see Text.
        </p>
      )}
    </div>
  )
}

/** The lines that are not below a collapsed one. */
function openLines(lines: readonly PlanLine[], closed: ReadonlySet<number>): readonly ShownLine[] {
  const open: ShownLine[] = []
  let hiddenFrom = Number.POSITIVE_INFINITY
  lines.forEach((line, at) => {
    if (line.level >= hiddenFrom) return
    hiddenFrom = closed.has(at) ? line.level + 1 : Number.POSITIVE_INFINITY
    open.push({ line, at })
  })
  return open
}

/** Handles a key. Returns the row to move to, -1 for none, undefined for another key. */
function keyOf(
  key: string,
  shown: readonly ShownLine[],
  row: number,
  closed: ReadonlySet<number>,
  toggle: (at: number) => void,
): number | undefined {
  const here = shown[row]
  if (!here) return undefined
  const { line, at } = here
  const isOpen = line.hasChildren && !closed.has(at)
  const turn = () => {
    if (line.hasChildren) toggle(at)
    return -1
  }
  switch (key) {
    case 'ArrowDown':
      return Math.min(row + 1, shown.length - 1)
    case 'ArrowUp':
      return Math.max(row - 1, 0)
    case 'Home':
      return 0
    case 'End':
      return shown.length - 1
    case 'ArrowRight':
      return isOpen ? row + 1 : turn()
    case 'ArrowLeft':
      return isOpen
        ? turn()
        : shown.findLastIndex((other, place) => place < row && other.line.level < line.level)
    case 'Enter':
    case ' ':
      return turn()
    default:
      return undefined
  }
}

function Head({ isMet }: Readonly<{ isMet: boolean }>) {
  return (
    <thead>
      <tr>
        <th>Node</th>
        <th class="number" title="What the planner expects: to the first row, and to the last">
          Cost
        </th>
        <th class="number">Estimated rows</th>
        {isMet && <th class="number">Actual rows</th>}
        {isMet && <th title="Without the nodes below">Self time</th>}
        {isMet && (
          <th class="number" title="Pages of 8 kB, without the nodes below: found in the cache, and read">
            Buffers
          </th>
        )}
      </tr>
    </thead>
  )
}

type NodeProps = Readonly<{
  line: PlanLine
  isOpen: boolean | undefined
  isStop: boolean
  isMet: boolean
  toggle: () => void
  stopHere: () => void
}>

/** The tree handles its keys. */
function Node({ line, isOpen, isStop, isMet, toggle, stopHere }: NodeProps) {
  const { met, level, position, size, isSlowest } = line
  return (
    <tr
      class={isSlowest ? 'slowest' : undefined}
      aria-level={level}
      aria-posinset={position}
      aria-setsize={size}
      aria-expanded={isOpen}
      tabIndex={isStop ? 0 : -1}
      onFocus={stopHere}
    >
      <td>
        <div class="plan-node" style={{ '--level': level - 1 }}>
          <span class="turn" aria-hidden="true" onClick={isOpen === undefined ? undefined : toggle}>
            {isOpen === undefined ? '' : isOpen ? '▾' : '▸'}
          </span>
          <Title line={line} />
        </div>
      </td>
      <td class="number">{`${formatCost(line.startCost)} … ${formatCost(line.cost)}`}</td>
      <td class="number">{formatCount(line.expectedRows)}</td>
      {isMet && (
        <td class="number">
          {met && formatCount(met.rows)}
          {met && met.loops > 1 && <div class="small muted">in {formatCount(met.loops)} loops</div>}
        </td>
      )}
      {isMet && <td>{met && <OwnTime ms={met.ms} share={met.share} />}</td>}
      {isMet && (
        <td class="number">{met?.hit !== undefined && <Buffers hit={met.hit} read={met.read ?? 0} />}</td>
      )}
    </tr>
  )
}

function Title({ line: { title, detail, warnings, isSlowest } }: Readonly<{ line: PlanLine }>) {
  return (
    <div>
      {title} {isSlowest && <span class="badge warning">slowest</span>}{' '}
      {warnings.map((warning) => (
        <span key={warning} class="badge warning">
          {warning}
        </span>
      ))}
      {detail && <div class="small muted mono">{detail}</div>}
    </div>
  )
}

const formatCost = (cost: number) => (cost < 100 ? cost.toFixed(2) : formatCount(Math.round(cost)))

function OwnTime({ ms, share }: Readonly<{ ms: number; share: number }>) {
  return (
    <div class="own-time">
      <span class="bar-of-time" style={{ width: `${Math.round(share * 100)}px` }} />
      {formatDuration(ms)}
      <span class="small muted">{Math.round(share * 100)} %</span>
    </div>
  )
}

function Buffers({ hit, read }: Readonly<{ hit: number; read: number }>) {
  return (
    <>
      {formatCount(hit + read)}
      {read > 0 && <div class="small muted">{formatCount(read)} read</div>}
    </>
  )
}
