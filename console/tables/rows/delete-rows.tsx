import { shownTable, type Table } from '../../api/tables.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import { Dialog } from '../../parts/controls/dialog.tsx'
import { DialogActs } from '../../parts/controls/dialog-acts.tsx'
import { plural } from '../../parts/format.ts'
import { ErrorNotice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'
import { runStatement } from './change-rows.ts'
import { deleteRows, type RowVersion } from './change-sql.ts'

type DeleteProps = Readonly<{
  table: Table
  versions: readonly RowVersion[]
  close: () => void
  done: (deleted: number) => void
}>

/** Asks first, with the number of rows. */
export function DeleteRows({ table, versions, close, done }: DeleteProps) {
  const { isBusy, error, begin } = useWork()
  const count = plural(versions.length, 'row')
  const { shown, ...statement } = deleteRows(table, versions)
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => done((await runStatement({ ...statement, shown })).rows))
  }
  return (
    <Dialog title={`Delete ${count}?`} onClose={close}>
      <form class="stack" onSubmit={submit}>
        <p>
          This deletes {count} of {shownTable(table)} and cannot be undone. Rows that somebody has changed
          since the page read them stay.
        </p>
        <CodeBlock
          label="SQL of the deletion"
          text={shown.length > longestShown ? `${shown.slice(0, longestShown)}…` : shown}
        />
        {error !== undefined && <ErrorNotice error={error} />}
        <DialogActs act={`Delete ${count}`} isReady={!isBusy} isDanger close={close} />
      </form>
    </Dialog>
  )
}

const longestShown = 10_000
