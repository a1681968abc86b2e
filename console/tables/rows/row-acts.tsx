import { useRef, useState } from 'preact/hooks'
import type { Table, TableColumn } from '../../api/tables.ts'
import { useCommands } from '../../parts/commands.ts'
import { formatCount, plural } from '../../parts/format.ts'
import { toast } from '../../parts/toast.tsx'
import { rangeOf } from '../../result/grid/grid-selection.ts'
import type { Result } from '../../result/result.ts'
import type { ResultLook } from '../../result/result-look.ts'
import { AddRow } from './add-row.tsx'
import { type Changed, hasVersions, versionsOf, whyReadOnly } from './change-rows.ts'
import { deleteRows, isSameVersion, type RowVersion, updateCell } from './change-sql.ts'
import { DeleteRows } from './delete-rows.tsx'
import { type CellChange, EditCell, type EditedCell } from './edit-cell.tsx'
import { type Undoable, UndoDialog } from './undo-dialog.tsx'

/** The dialog that is open. */
export type OpenedAct =
  | Readonly<{ kind: 'add' | 'undo' }>
  | Readonly<{ kind: 'edit'; cell: EditedCell }>
  | Readonly<{ kind: 'delete'; versions: readonly RowVersion[] }>

type Read = Readonly<{ result: Result; look: ResultLook }>

type RowActsProps = Readonly<{
  table: Table
  columns: readonly TableColumn[]
  read: Read
  opened: OpenedAct | undefined
  open: (act: OpenedAct | undefined) => void
  /** Reads the rows again, and selects the row of this version. */
  reread: (row?: RowVersion) => void
}>

/** The form for the focused cell; undefined without rows. */
export async function editFocused(
  { result, look }: Read,
  columns: readonly TableColumn[],
): Promise<OpenedAct | undefined> {
  const { row, column: at } = look.selection.peek().focus
  const { rows, columns: read } = result.progress.peek()
  const column = columns.find(({ name }) => name === read[at]?.name)
  if (!column || row >= rows) return undefined
  const [version] = await versionsOf(result, row, row)
  return { kind: 'edit', cell: { column, row, version: version! } }
}

/** Edits the focused cell, adds a row, deletes the selected rows. Says what cannot be done. */
export function RowActs(props: RowActsProps) {
  const { table, columns, read, opened, open } = props
  const { changes, edited, added, undone } = useChanges(props)
  const { rows } = read.result.progress.value
  const { top, bottom } = rangeOf(read.look.selection.value)
  const count = Math.min(bottom, rows - 1) - top + 1
  const can = hasVersions(table) ? table : { canUpdate: false, canInsert: false, canDelete: false }
  const edit = async () => can.canUpdate && open(await editFocused(read, columns))
  const remove = async () =>
    count > 0 && open({ kind: 'delete', versions: await versionsOf(read.result, top, top + count - 1) })
  useCommands([
    ...(can.canUpdate ? [{ name: 'Edit the cell', keys: 'e', run: () => void edit() }] : []),
    ...(can.canInsert ? [{ name: 'Add a row', keys: 'a', run: () => open({ kind: 'add' }) }] : []),
    ...(can.canDelete
      ? [{ name: 'Delete the selected rows', keys: 'Delete', run: () => void remove() }]
      : []),
  ])
  const why = whyReadOnly(table)
  return (
    <>
      {why && <span class="muted small">{why}</span>}
      {can.canUpdate && (
        <button type="button" title="E" disabled={rows === 0} onClick={() => void edit()}>
          Edit cell
        </button>
      )}
      {can.canInsert && (
        <button type="button" title="A" disabled={columns.length === 0} onClick={() => open({ kind: 'add' })}>
          Add row
        </button>
      )}
      {can.canDelete && (
        <button
          type="button"
          class="danger"
          title="Delete"
          disabled={count < 1}
          onClick={() => void remove()}
        >
          Delete {count > 1 ? `${formatCount(count)} rows` : 'row'}
        </button>
      )}
      {changes.length > 0 && (
        <button type="button" onClick={() => open({ kind: 'undo' })}>
          Undo…
        </button>
      )}
      <Opened {...props} changes={changes} edited={edited} added={added} undone={undone} key={opened?.kind} />
    </>
  )
}

type Done = Readonly<{
  changes: readonly Undoable[]
  edited: (change: CellChange) => void
  added: (change: Changed) => void
  undone: (change: Undoable, done: Changed) => void
}>

function Opened({
  table,
  columns,
  opened,
  open,
  reread,
  changes,
  edited,
  added,
  undone,
}: RowActsProps & Done) {
  const close = () => open(undefined)
  const closeAndRead = () => {
    close()
    reread()
  }
  if (opened?.kind === 'edit')
    return <EditCell table={table} cell={opened.cell} close={close} done={edited} reread={closeAndRead} />
  if (opened?.kind === 'add') return <AddRow table={table} columns={columns} close={close} done={added} />
  if (opened?.kind === 'undo') return <UndoDialog changes={changes} undone={undone} close={close} />
  if (opened?.kind !== 'delete') return null
  const { versions } = opened
  const deleted = (rows: number) => {
    closeAndRead()
    const left = versions.length - rows
    toast(
      left === 0
        ? `Deleted ${plural(rows, 'row')}`
        : `Deleted ${plural(rows, 'row')}; ${plural(left, 'row')} had changed and stayed`,
    )
  }
  return <DeleteRows table={table} versions={versions} close={close} done={deleted} />
}

/** The changes of this visit. Later changes give their rows new versions. */
function useChanges({ table, open, reread }: RowActsProps): Done {
  const [changes, setChanges] = useState<readonly Undoable[]>([])
  const lastId = useRef(0)
  const note = (label: string, version: RowVersion, undo: Undoable['undo']) =>
    setChanges((former) => [...former, { id: ++lastId.current, label, version, undo }].slice(-mostChanges))
  const follow = (old: RowVersion, now: RowVersion) =>
    setChanges((former) =>
      former.map((each) => (isSameVersion(each.version, old) ? { ...each, version: now } : each)),
    )
  const edited = ({ version, column, old, former, value }: CellChange) => {
    open(undefined)
    toast('Saved')
    if (version) {
      follow(old, version)
      note(`${column}: ${short(former)} → ${short(value)}`, version, (now) =>
        updateCell(table, column, former, now),
      )
    }
    reread(version)
  }
  const added = ({ version }: Changed) => {
    open(undefined)
    toast('Added a row')
    if (version) note('Added a row', version, (now) => deleteRows(table, [now]))
    reread(version)
  }
  const undone = (change: Undoable, { version }: Changed) => {
    setChanges((former) => former.filter((each) => each !== change))
    if (version) follow(change.version, version)
    toast('Undone')
    reread(version)
  }
  return { changes, edited, added, undone }
}

const mostChanges = 100

const short = (value: string | null) =>
  value === null ? 'NULL' : value.length > 40 ? `“${value.slice(0, 40)}…”` : `“${value}”`
