import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { saveFile } from '../../parts/browser/files.ts'
import { CopyButton } from '../../parts/controls/copy-button.tsx'
import { formatBytes, formatCount, formatTime } from '../../parts/format.ts'
import { useLoaded } from '../../parts/loading.tsx'
import type { Result } from '../result.ts'
import type { ResultLook } from '../result-look.ts'
import type { CellBytes } from '../worker/cell-bytes.ts'
import type { CellShape } from '../worker/cell-shape.ts'
import type { ResultColumn } from '../worker/protocol.ts'
import { shownTime } from '../worker/shown-cell.ts'
import { CellGeometry } from './cell-geometry.tsx'
import { CellImage } from './cell-image.tsx'
import { isTree, JsonTree } from './json-tree.tsx'
import { LongText } from './long-text.tsx'

export type CellPanelProps = Readonly<{ result: Result; look: ResultLook; acts?: ComponentChildren }>

/** The full value of a cell: JSON as a tree, a geometry as WKT and on a map, a picture, anything else as text. */
export default function CellPanel({ result, look, acts }: CellPanelProps) {
  const { row, column } = look.selection.value.focus
  const about = result.progress.value.columns[column]
  const cell = useLoaded(
    () => readCell(result, { row, column }, about),
    [result, row, column, look.order.value, about?.pgtype],
  )
  const close = () => {
    look.isOpen.value = false
  }
  if (!about) return null
  const { text, bytes, shape } = (cell.isLoading ? undefined : cell.value) ?? nothing
  return (
    <aside class="cell-panel" aria-label={`${about.name}, row ${row + 1}`}>
      <div class="row">
        <strong class="grow">{about.name}</strong>
        {acts}
        <CopyButton text={copied(text, about)} label={about.type === 'geometry' ? 'Copy EWKB' : 'Copy'} />
        <SaveButton name={`${about.name}-${row + 1}`} column={about} text={text} bytes={bytes} />
        <button type="button" class="quiet square" aria-label="Close the cell" onClick={close}>
          ✕
        </button>
      </div>
      <p class="small muted">
        {about.pgtype ?? about.type} · row {formatCount(row + 1)}
        {text !== null && ` · ${sizeOf(text, about)}`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard */}
      <div class="cell-value" tabIndex={0} role="group" aria-label="Value">
        {!cell.isLoading && (
          <Value
            key={`${row} ${column}`}
            {...{ text, bytes, shape, column: about }}
            label={`Picture in ${about.name}, row ${row + 1}`}
          />
        )}
      </div>
    </aside>
  )
}

type Cell = Readonly<{ text: string | null; bytes: CellBytes | null; shape: CellShape | null }>

const nothing: Cell = { text: null, bytes: null, shape: null }

async function readCell(
  result: Result,
  place: Readonly<{ row: number; column: number }>,
  column: ResultColumn | undefined,
): Promise<Cell> {
  const text = await result.ask('cell', place)
  const hasBytes = text !== null && (column?.pgtype === 'bytea' || /^data:image\//i.test(text))
  const hasShape = text !== null && column?.type === 'geometry'
  return {
    text,
    bytes: hasBytes ? await result.ask('bytes', place) : null,
    shape: hasShape ? await result.ask('shape', place) : null,
  }
}

type SaveProps = Omit<Cell, 'shape'> & Readonly<{ name: string; column: ResultColumn }>

function SaveButton({ name, column, text, bytes }: SaveProps) {
  const ending = bytes ? (bytes.image?.kind ?? 'bin') : isJson(column) ? 'json' : 'txt'
  const save = () => saveFile(`${name}.${ending}`, bytes?.bytes ?? new Blob([copied(text, column)]))
  return (
    <button type="button" disabled={text === null} onClick={save}>
      Save
    </button>
  )
}

const isJson = ({ pgtype }: ResultColumn) => /^jsonb?$/.test(pgtype ?? '')

const sizeOf = (text: string, { pgtype }: ResultColumn) =>
  pgtype === 'bytea' && text.startsWith('\\x')
    ? formatBytes((text.length - 2) / 2)
    : `${formatCount(text.length)} characters`

const copied = (text: string | null, { type, pgtype }: ResultColumn) =>
  type === 'date' ? shownTime(text ?? '', pgtype) : (text ?? '')

type ValueProps = Cell & Readonly<{ column: ResultColumn; label: string }>

function Value({ text, bytes, shape, column, label }: ValueProps) {
  if (text === null) return <em class="muted">NULL</em>
  if (text === '') return <em class="muted">empty string</em>
  if (column.type === 'geometry') return <CellGeometry hex={text} shape={shape} />
  if (column.type === 'date') return <Time text={text} pgtype={column.pgtype} />
  if (bytes?.image)
    return (
      <InTwoWays names={['Picture', 'Text']} text={text}>
        <CellImage bytes={bytes.bytes} image={bytes.image} label={label} />
      </InTwoWays>
    )
  const isArray = column.pgtype?.startsWith('_') ?? false
  if (!isTree(text, isJson(column) || isArray)) return <LongText text={text} />
  return (
    <InTwoWays names={['Tree', 'Text']} text={text} isTextFirst={!isJson(column)}>
      <JsonTree raw={text.trim()} isOpenAtFirst />
    </InTwoWays>
  )
}

type TwoProps = Readonly<{
  names: readonly [string, string]
  text: string
  isTextFirst?: boolean
  children: ComponentChildren
}>

/** A value in another form and as its text. */
function InTwoWays({ names, text, isTextFirst = false, children }: TwoProps) {
  const [isText, setText] = useState(isTextFirst)
  return (
    <>
      <div class="row two-ways">
        {names.map((name, at) => (
          <button
            key={name}
            type="button"
            aria-pressed={isText === (at === 1)}
            onClick={() => setText(at === 1)}
          >
            {name}
          </button>
        ))}
      </div>
      {isText ? <LongText text={text} /> : children}
    </>
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
