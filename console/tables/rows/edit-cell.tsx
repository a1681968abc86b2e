import { useState } from 'preact/hooks'
import type { Table, TableColumn } from '../../api/tables.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import { Dialog } from '../../parts/controls/dialog.tsx'
import { DialogActs } from '../../parts/controls/dialog-acts.tsx'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { ErrorNotice, Notice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'
import { type CellNow, type Changed, type ReadCell, readCell, readNow, runStatement } from './change-rows.ts'
import { type RowVersion, updateCell } from './change-sql.ts'
import { submitByKey } from './submit-by-key.ts'
import { problemIn, ValueField } from './value-field.tsx'

export type EditedCell = Readonly<{ column: TableColumn; row: number; version: RowVersion }>

/** `former` is the text of the value before. */
export type CellChange = Changed &
  Readonly<{ column: string; old: RowVersion; former: string | null; value: string | null }>

type EditProps = Readonly<{
  table: Table
  cell: EditedCell
  close: () => void
  done: (change: CellChange) => void
  /** Reads the rows of the page again. */
  reread: () => void
}>

/** A form for the value of one cell. It is read again, as PostgreSQL writes it. */
export function EditCell({ table, cell, close, done, reread }: EditProps) {
  const { column, row, version } = cell
  const why = whyFixed(column)
  const read = useLoaded(
    async (signal) => (why ? null : ((await readCell(table, column, version, signal)) ?? null)),
    [],
  )
  return (
    <Dialog title={`Edit ${column.name} of row ${row + 1}`} onClose={close}>
      {why ? (
        <Notice>{why}</Notice>
      ) : (
        <Load from={read} lines={3}>
          {(found) =>
            found === null ? (
              <Stale reread={reread}>This row was changed or deleted after the page had read it.</Stale>
            ) : (found.value?.length ?? 0) > longestEdited ? (
              <Notice>The value is too long to be edited here. Use UPDATE on the SQL page.</Notice>
            ) : (
              <CellForm table={table} cell={cell} found={found} close={close} done={done} reread={reread} />
            )
          }
        </Load>
      )}
    </Dialog>
  )
}

const longestEdited = 200_000

function whyFixed({ isGenerated, canUpdate }: TableColumn): string | undefined {
  if (isGenerated) return 'The database computes the value of this column. It cannot be set.'
  return canUpdate ? undefined : 'This key has no right to UPDATE this column.'
}

function Stale({ children, reread }: Readonly<{ children: string; reread: () => void }>) {
  return (
    <Notice
      kind="warning"
      acts={
        <button type="button" onClick={reread}>
          Read the rows again
        </button>
      }
    >
      {children}
    </Notice>
  )
}

/** The value found, and the current one after a conflict. */
type Known = Readonly<{ former: string | null; version: RowVersion; conflict?: CellNow | undefined }>

function CellForm({ table, cell, found, close, done, reread }: EditProps & Readonly<{ found: ReadCell }>) {
  const { column } = cell
  const [value, setValue] = useState<string | null>(found.value)
  const [known, know] = useState<Known>({ former: found.exact, version: cell.version })
  const { isBusy, error, begin } = useWork()
  const { former, version, conflict } = known
  const statement = updateCell(table, column.name, value, version)
  const isFixed = conflict !== undefined && conflict.kind !== 'there'
  const isReady =
    (conflict || value !== found.value) && !isFixed && (value === null || !problemIn(column, value))
  const save = async () => {
    const changed = await runStatement(statement)
    if (changed.rows > 0) return done({ ...changed, column: column.name, old: version, former, value })
    // A trigger or a policy has kept the row unchanged.
    if (await readCell(table, column, version, new AbortController().signal))
      throw new Error('The row was not changed: a trigger or a policy of the table prevents it.')
    const now = await readNow(table, column, found.key)
    know(
      now.kind === 'there'
        ? { former: now.exact, version: now.version, conflict: now }
        : { ...known, conflict: now },
    )
  }
  const submit = (event: Event) => {
    event.preventDefault()
    if (isReady) void begin(save)
  }
  return (
    <form class="stack" onSubmit={submit} onKeyDown={submitByKey}>
      <ValueField column={column} value={value} change={(next) => setValue(next ?? null)} isFirst />
      {conflict && <Conflict mine={value} now={conflict} reread={reread} />}
      <CodeBlock label="SQL of this change" text={statement.shown} />
      {error !== undefined && <ErrorNotice error={error} />}
      <DialogActs act={conflict ? 'Save mine' : 'Save'} isReady={isReady && !isBusy} close={close} />
    </form>
  )
}

type ConflictProps = Readonly<{ mine: string | null; now: CellNow; reread: () => void }>

/** Another person has changed the row: shows both values. */
function Conflict({ mine, now, reread }: ConflictProps) {
  if (now.kind === 'gone') return <Stale reread={reread}>Somebody has deleted this row meanwhile.</Stale>
  if (now.kind === 'unknown')
    return (
      <Stale reread={reread}>
        Somebody has changed or deleted this row meanwhile. The table has no primary key, so it cannot be
        found again.
      </Stale>
    )
  return (
    <Notice
      kind="warning"
      acts={
        <button type="button" onClick={reread}>
          Keep theirs
        </button>
      }
    >
      <strong>Somebody has changed this row meanwhile. Nothing was saved.</strong>
      <dl class="both-values">
        <dt>Yours</dt>
        <dd>{shownValue(mine)}</dd>
        <dt>In the table now</dt>
        <dd>{shownValue(now.value)}</dd>
      </dl>
    </Notice>
  )
}

const shownValue = (value: string | null) =>
  value === null ? <em>NULL</em> : value.length > 500 ? `${value.slice(0, 500)}…` : value
