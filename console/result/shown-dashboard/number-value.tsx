import { Empty } from '../../parts/notice.tsx'
import type { ResultColumn, ResultRow } from '../worker/protocol.ts'

type NumberValueProps = Readonly<{
  columns: readonly ResultColumn[]
  rows: readonly ResultRow[]
  /** Undefined: the first one. */
  column: string | undefined
}>

/** One value of the first row, in large type. */
export function NumberValue({ columns, rows, column }: NumberValueProps) {
  const at = column === undefined ? 0 : columns.findIndex(({ name }) => name === column)
  const [row] = rows
  if (!row) return <Empty>No rows.</Empty>
  if (at < 0) return <Empty>The query has no column {column}.</Empty>
  const value = row[at] ?? null
  const isNumber = columns[at]!.type === 'number'
  return (
    <div class="part-number">
      <strong>
        {value === null ? <span class="muted">NULL</span> : isNumber ? shownNumber(value) : value}
      </strong>
      <span class="muted">{columns[at]!.name}</span>
    </div>
  )
}

/** With commas between thousands, and every digit: `1,234,567.89`. Other texts are unchanged. */
export const shownNumber = (text: string) =>
  /^-?\d+(\.\d+)?$/.test(text) ? text.replace(/^-?\d+/, (whole) => grouped(whole)) : text

const grouped = (whole: string) => whole.replace(/\B(?=(\d{3})+$)/g, ',')
