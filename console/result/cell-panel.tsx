import { CopyButton } from '../parts/copy-button.tsx'
import { formatCount } from '../parts/format.ts'
import { useLoaded } from '../parts/loading.tsx'
import { CellGeometry } from './cell-geometry.tsx'
import type { Column } from './protocol.ts'
import type { Result } from './result.ts'
import type { ResultLook } from './result-look.ts'

/** One value, whole: JSON as a tree, a geometry as WKT and on a map, everything else as its text. */
export function CellPanel({ result, look }: Readonly<{ result: Result; look: ResultLook }>) {
  const { row, column } = look.selection.value.focus
  const about = result.progress.value.columns[column]
  const cell = useLoaded(() => result.ask('cell', { row, column }), [result, row, column, look.order.value])
  const close = () => {
    look.isOpen.value = false
  }
  if (!about) return null
  const text = cell.value ?? null
  return (
    <aside class="cell-panel" aria-label={`${about.name}, row ${row + 1}`}>
      <div class="row">
        <strong class="grow">{about.name}</strong>
        <CopyButton text={text ?? ''} />
        <button type="button" class="quiet square" aria-label="Close the cell" onClick={close}>
          ✕
        </button>
      </div>
      <p class="small muted">
        {about.pgtype ?? about.type} · row {formatCount(row + 1)}
        {text !== null && ` · ${formatCount(text.length)} characters`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
      <div class="cell-value" tabIndex={0} role="group" aria-label="Value">
        {cell.isLoading ? null : <Value text={text} column={about} />}
      </div>
    </aside>
  )
}

function Value({ text, column }: Readonly<{ text: string | null; column: Column }>) {
  if (text === null) return <em class="muted">NULL</em>
  if (text === '') return <em class="muted">empty text</em>
  if (column.type === 'geometry') return <CellGeometry hex={text} />
  const tree = /^jsonb?$/.test(column.pgtype ?? '') ? parse(text) : undefined
  return typeof tree === 'object' && tree !== null ? <Tree value={tree} isOpen /> : <pre>{text}</pre>
}

function parse(text: string): unknown {
  try {
    // Digits stay as they are written.
    return JSON.parse(text, function keepDigits(_name, value: unknown, context?: { source?: string }) {
      return typeof value === 'number' && context?.source ? new Digits(context.source) : value
    } as (this: unknown, key: string, value: unknown) => unknown)
  } catch {
    return undefined
  }
}

class Digits {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

function Tree({ name, value, isOpen }: Readonly<{ name?: string; value: unknown; isOpen?: boolean }>) {
  const label = name === undefined ? null : <span class="tree-name">{name}: </span>
  if (value instanceof Digits)
    return (
      <div>
        {label}
        {value.text}
      </div>
    )
  if (typeof value !== 'object' || value === null)
    return (
      <div>
        {label}
        {JSON.stringify(value)}
      </div>
    )
  const entries = Object.entries(value)
  return (
    <details open={isOpen}>
      <summary>
        {label}
        <span class="muted">{Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </summary>
      <div class="tree">
        {entries.slice(0, 1000).map(([key, each]) => (
          <Tree key={key} name={key} value={each} />
        ))}
        {entries.length > 1000 && (
          <p class="muted">and {formatCount(entries.length - 1000)} more: Copy has them all</p>
        )}
      </div>
    </details>
  )
}
