import { useState } from 'preact/hooks'
import { formatCount, plural } from '../../parts/format.ts'
import { Empty } from '../../parts/notice.tsx'
import type { ResultColumn, ResultRow } from '../worker/protocol.ts'
import { mostRows } from './read-part.ts'

const step = 100
const mostColumns = 50

type RowsTableProps = Readonly<{
  label: string
  columns: readonly ResultColumn[]
  rows: readonly ResultRow[]
}>

/** The rows of a part as a table. It draws some, and more when asked. */
export function RowsTable({ label, columns, rows }: RowsTableProps) {
  const [wanted, want] = useState(step)
  if (rows.length === 0) return <Empty>No rows.</Empty>
  const shown = columns.slice(0, mostColumns)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard
    <section class="part-scroll" tabIndex={0} aria-label={`Rows of ${label}`}>
      <table class="list part-table">
        <thead>
          <tr>
            {shown.map(({ name, type }, at) => (
              <th key={at} scope="col" class={type === 'number' ? 'number' : ''}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, wanted).map((row, at) => (
            <tr key={at}>
              {shown.map(({ type }, column) => (
                <td key={column} class={type === 'number' ? 'number' : ''}>
                  {row[column] ?? <em class="muted">NULL</em>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > wanted && (
        <button type="button" onClick={() => want(wanted + step)}>
          Show more rows
        </button>
      )}
      <LeftOutNote columns={columns.length} rows={rows.length} />
    </section>
  )
}

function LeftOutNote({ columns, rows }: Readonly<{ columns: number; rows: number }>) {
  const notes = [
    ...(rows >= mostRows.table ? [`The first ${formatCount(rows)} rows.`] : []),
    ...(columns > mostColumns ? [`${plural(columns - mostColumns, 'more column')} not shown.`] : []),
  ]
  return notes.length > 0 ? <p class="small muted">{notes.join(' ')}</p> : null
}
