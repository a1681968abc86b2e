import { useRef, useState } from 'preact/hooks'
import { type CatalogTable, catalog } from '../../api/catalog.ts'
import { formatCount } from '../../parts/format.ts'
import {
  estimatedRows,
  geometryKind,
  insertedText,
  type SchemaItem,
  type SchemaLine,
} from './schema-lines.ts'

export type TreeActs = Readonly<{
  toggle: (id: string) => void
  /** After a click the focus goes to the editor, after a key it stays in the tree. */
  insert: (item: SchemaItem, by: 'click' | 'key') => void
  /** Under the pointer or the focus. */
  look: (line: SchemaLine) => void
  search: () => void
  leave: () => void
}>

type TreeProps = TreeActs & Readonly<{ lines: readonly SchemaLine[] }>

/** A tree as ARIA describes it: one tab stop, moved with arrow keys. */
export function SchemaTree({ lines, ...acts }: TreeProps) {
  const tree = useRef<HTMLDivElement>(null)
  // The line of the last focus. The pointer does not move it: keys act on it.
  const [stop, setStop] = useState<string | undefined>(undefined)
  const at = Math.max(
    0,
    lines.findIndex(({ id }) => id === stop),
  )
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const pressed = [...tree.current!.children].indexOf(event.target as Element)
    const to = keyOf(event.key, lines, pressed, acts)
    if (to === undefined) return
    event.preventDefault()
    event.stopPropagation()
    if (to >= 0) (tree.current?.children[to] as HTMLElement | undefined)?.focus()
  }
  return (
    <div class="schema-tree" role="tree" aria-label="Schema" ref={tree} onKeyDown={press}>
      {lines.map((line, place) => (
        <Line key={line.id} line={line} isStop={place === at} stopHere={setStop} {...acts} />
      ))}
    </div>
  )
}

/** Handles a key. Returns the line to move to, -1 for none, undefined for another key. */
function keyOf(key: string, lines: readonly SchemaLine[], at: number, acts: TreeActs): number | undefined {
  const line = lines[at]
  if (!line) return undefined
  const stay = (act: () => void) => {
    act()
    return -1
  }
  switch (key) {
    case 'ArrowDown':
      return Math.min(at + 1, lines.length - 1)
    case 'ArrowUp':
      return at === 0 ? stay(acts.search) : at - 1
    case 'Home':
      return 0
    case 'End':
      return lines.length - 1
    case 'ArrowRight':
      return line.isOpen === false ? stay(() => acts.toggle(line.id)) : line.isOpen ? at + 1 : -1
    case 'ArrowLeft':
      return line.isOpen ? stay(() => acts.toggle(line.id)) : parentOf(lines, at)
    case ' ':
      return line.isOpen === undefined ? -1 : stay(() => acts.toggle(line.id))
    case 'Enter':
      return stay(() => choose(line, 'key', acts))
    case '/':
      return stay(acts.search)
    case 'Escape':
      return stay(acts.leave)
    default:
      return undefined
  }
}

const parentOf = (lines: readonly SchemaLine[], at: number) =>
  lines.findLastIndex(({ level }, place) => place < at && level < lines[at]!.level)

/** What a click or Enter does. */
function choose({ id, item }: SchemaLine, by: 'click' | 'key', { search, toggle, insert }: TreeActs): void {
  if (item.kind === 'more') search()
  else if (item.kind === 'functions' || (item.kind === 'schema' && by === 'click')) toggle(id)
  else insert(item, by)
}

type LineProps = TreeActs & Readonly<{ line: SchemaLine; isStop: boolean; stopHere: (id: string) => void }>

/** The tree handles its keys. */
function Line({ line, isStop, stopHere, ...acts }: LineProps) {
  const { id, level, item, isOpen, position, size } = line
  const text = insertedText(item, catalog.value)
  const turn = (event: Event) => {
    event.stopPropagation()
    acts.toggle(id)
  }
  const focus = () => {
    stopHere(id)
    acts.look(line)
  }
  const drag = (event: DragEvent) => {
    event.dataTransfer?.setData('text/plain', text)
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys
    <div
      role="treeitem"
      class={`schema-line ${item.kind}`}
      style={{ '--level': level - 1 }}
      aria-level={level}
      aria-expanded={isOpen}
      aria-posinset={position}
      aria-setsize={size}
      tabIndex={isStop ? 0 : -1}
      draggable={text !== ''}
      title={text && `Insert ${text}`}
      onClick={() => choose(line, 'click', acts)}
      onFocus={focus}
      onPointerEnter={() => acts.look(line)}
      onDragStart={drag}
    >
      <span class="turn" aria-hidden="true" onClick={isOpen === undefined ? undefined : turn}>
        {isOpen === undefined ? '' : isOpen ? '▾' : '▸'}
      </span>
      <span class="line-name">
        {item.kind === 'more' ? `${formatCount(item.count)} more: search` : line.label}
      </span>
      <span class="line-detail">{detailOf(item)}</span>
    </div>
  )
}

function detailOf(item: SchemaItem): string {
  switch (item.kind) {
    case 'table':
      return tableDetail(item.table)
    case 'column':
      return item.column.type
    case 'function':
      return item.of.result
    case 'functions':
      return formatCount(item.count)
    default:
      return ''
  }
}

function tableDetail(table: CatalogTable): string {
  const rows = estimatedRows(table)
  return [
    table.kind !== 'table' && table.kind,
    geometryKind(table),
    rows !== undefined && `~${compact.format(rows)}`,
  ]
    .filter(Boolean)
    .join(' · ')
}

const compact = new Intl.NumberFormat('en-US', { notation: 'compact' })
