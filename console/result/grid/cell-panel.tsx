import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from '../../parts/controls/copy-button.tsx'
import { formatCount, formatTime } from '../../parts/format.ts'
import { useLoaded } from '../../parts/loading.tsx'
import type { Result } from '../result.ts'
import type { ResultLook } from '../result-look.ts'
import type { ResultColumn } from '../worker/protocol.ts'
import { shownTime } from '../worker/shown-cell.ts'
import { CellGeometry } from './cell-geometry.tsx'

/** The full value of a cell: JSON as a tree, a geometry as WKT and on a map, anything else as text. */
export function CellPanel({
  result,
  look,
  acts,
}: Readonly<{ result: Result; look: ResultLook; acts?: ComponentChildren }>) {
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
        {acts}
        <CopyButton text={copied(text, about)} label={about.type === 'geometry' ? 'Copy EWKB' : 'Copy'} />
        <button type="button" class="quiet square" aria-label="Close the cell" onClick={close}>
          ✕
        </button>
      </div>
      <p class="small muted">
        {about.pgtype ?? about.type} · row {formatCount(row + 1)}
        {text !== null && ` · ${formatCount(text.length)} characters`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard */}
      <div class="cell-value" tabIndex={0} role="group" aria-label="Value">
        {cell.isLoading ? null : <Value text={text} column={about} />}
      </div>
    </aside>
  )
}

const copied = (text: string | null, { type, pgtype }: ResultColumn) =>
  type === 'date' ? shownTime(text ?? '', pgtype) : (text ?? '')

function Value({ text, column }: Readonly<{ text: string | null; column: ResultColumn }>) {
  if (text === null) return <em class="muted">NULL</em>
  if (text === '') return <em class="muted">empty string</em>
  if (column.type === 'geometry') return <CellGeometry hex={text} />
  if (column.type === 'date') return <Time text={text} pgtype={column.pgtype} />
  const isJson = /^jsonb?$/.test(column.pgtype ?? '') && text.length <= longestTree
  const tree = isJson ? parse(text) : undefined
  return typeof tree === 'object' && tree !== null ? (
    <Tree value={tree} isOpenAtFirst />
  ) : (
    <LongText text={text} />
  )
}

/** A time with a zone is also shown in the zone of this computer. */
function Time({ text, pgtype }: Readonly<{ text: string; pgtype: string | undefined }>) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const isHere = pgtype === 'timestamptz' && !Number.isNaN(Date.parse(text))
  return (
    <>
      <pre>{shownTime(text, pgtype)}</pre>
      {pgtype === 'timestamp' && <p class="small muted">This type has no time zone.</p>}
      {isHere && (
        <p class="small muted">
          {formatTime(text)} in {zone}, the time zone of this computer
        </p>
      )}
    </>
  )
}

function parse(text: string): unknown {
  try {
    // Numbers keep all their digits.
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

type TreeProps = Readonly<{ name?: string; value: unknown; isOpenAtFirst?: boolean }>

/** Closed nodes are not rendered, so a deep or large value costs nothing until it is opened. */
function Tree({ name, value, isOpenAtFirst = false }: TreeProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  const label = name === undefined ? null : <span class="tree-name">{cut(name)}: </span>
  if (typeof value !== 'object' || value === null || value instanceof Digits)
    return (
      <div>
        {label}
        {cut(value instanceof Digits ? value.text : JSON.stringify(value))}
      </div>
    )
  const names = Object.keys(value)
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span class="muted">{Array.isArray(value) ? `[${names.length}]` : `{${names.length}}`}</span>
      </summary>
      {isOpen && (
        <div class="tree">
          {names.slice(0, mostMembers).map((key) => (
            <Tree key={key} name={key} value={(value as Record<string, unknown>)[key]} />
          ))}
          {names.length > mostMembers && (
            <p class="muted">{formatCount(names.length - mostMembers)} more. Copy includes all.</p>
          )}
        </div>
      )}
    </details>
  )
}

/** Parsing more would block the page. */
const longestTree = 4_000_000
const mostMembers = 1_000
const longestText = 10_000
const cut = (text: string) => (text.length > longestText ? `${text.slice(0, longestText)}…` : text)

/** Cut, because a browser is slow to lay out many megabytes of text. */
function LongText({ text }: Readonly<{ text: string }>) {
  return (
    <>
      <pre>{text.slice(0, mostCharacters)}</pre>
      {text.length > mostCharacters && (
        <p class="muted">{formatCount(text.length - mostCharacters)} more characters. Copy includes all.</p>
      )}
    </>
  )
}

const mostCharacters = 200_000
