import type { Result } from '../result.ts'
import type { ResultLook } from '../result-look.ts'
import type { ResultColumn } from '../worker/protocol.ts'
import { shownTime } from '../worker/shown-cell.ts'
import { type CopyFormat, writers } from './copy-formats.ts'
import { rangeOf } from './grid-selection.ts'

/** Larger selections must be downloaded. */
const mostCells = 2_000_000

/** The selected cells as text, with full values, without hidden columns. */
export async function copySelection(result: Result, look: ResultLook, format: CopyFormat): Promise<string> {
  const range = rangeOf(look.selection.value)
  const { columns } = result.progress.value
  const hidden = look.hidden.value
  const isCopied = (_: unknown, at: number) => !hidden.has(range.left + at)
  const copied = columns.slice(range.left, range.right + 1).filter(isCopied)
  const count = (range.bottom - range.top + 1) * copied.length
  if (count > mostCells)
    throw new Error(`${count.toLocaleString('en-US')} cells are too many for the clipboard: use Download`)
  const rows = await result.ask('whole', range)
  return writers[format](
    copied,
    rows.map((row) => row.filter(isCopied).map((value, at) => copiedValue(value, copied[at]!))),
  )
}

/** Times in the form that is shown. */
const copiedValue = (value: string | null, { type, pgtype }: ResultColumn) =>
  value !== null && type === 'date' ? shownTime(value, pgtype) : value
