import { toast } from '../../parts/toast.tsx'
import { addDraft, drafts } from '../drafts.ts'
import type { Run } from '../run.ts'

/** Beside the value of a cell: a new draft with the rows that have this value. Nothing is run. */
export function OnlyThese({ run }: Readonly<{ run: Run }>) {
  const { text, result, look, draftId } = run
  const { row, column: at } = look.selection.value.focus
  const open = async () => {
    const { onlyTheseRows, whyNotOnly } = await import('./only-these-rows.ts')
    const { columns } = result.progress.peek()
    const value = await result.ask('cell', { row, column: at })
    const why = whyNotOnly(text, columns, { at, value })
    if (why !== undefined) return toast(why)
    const values = drafts.peek().find(({ id }) => id === draftId)?.values
    addDraft(onlyTheseRows(text, columns[at]!.name, value), undefined, { values })
  }
  return (
    <button type="button" title="Write a statement with the rows of this value" onClick={() => void open()}>
      Filter
    </button>
  )
}
