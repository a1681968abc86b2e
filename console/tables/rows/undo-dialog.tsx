import { CodeBlock } from '../../parts/code-block.tsx'
import { Dialog } from '../../parts/controls/dialog.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'
import { type Changed, runStatement } from './change-rows.ts'
import type { RowStatement, RowVersion } from './change-sql.ts'

/** A change of this visit that can be undone as long as the row has the same version. */
export type Undoable = Readonly<{
  id: number
  label: string
  version: RowVersion
  undo: (version: RowVersion) => RowStatement
}>

type UndoProps = Readonly<{
  changes: readonly Undoable[]
  undone: (change: Undoable, done: Changed) => void
  close: () => void
}>

/** The changes of this visit, the last first. */
export function UndoDialog({ changes, undone, close }: UndoProps) {
  const { isBusy, error, begin } = useWork()
  const undo = (change: Undoable) =>
    begin(async () => {
      const done = await runStatement(change.undo(change.version))
      if (done.rows === 0) throw new Error('Somebody has changed this row since. It was not undone.')
      undone(change, done)
    })
  return (
    <Dialog title="Changes of this visit" onClose={close} isWide>
      {changes.length === 0 && <Empty>All changes are undone.</Empty>}
      {error !== undefined && <ErrorNotice error={error} />}
      {changes.toReversed().map((change) => (
        <section key={change.id} class="stack tight" aria-label={change.label}>
          <div class="row">
            <strong class="grow">{change.label}</strong>
            <button type="button" disabled={isBusy} onClick={() => void undo(change)}>
              Undo
            </button>
          </div>
          <CodeBlock label={`SQL to undo: ${change.label}`} text={change.undo(change.version).shown} />
        </section>
      ))}
    </Dialog>
  )
}
