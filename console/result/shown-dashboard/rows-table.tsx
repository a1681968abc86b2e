import { useMemo, useState } from 'preact/hooks'
import { formatCount, plural } from '../../parts/format.ts'
import { Empty } from '../../parts/notice.tsx'
import type { ResultColumn, ResultOrder, ResultRow } from '../worker/protocol.ts'
import { mostRows } from './read-part.ts'
import { nextOrder, sortedRows } from './sorted-rows.ts'

const step = 100
const mostColumns = 50

type RowsTableProps = Readonly<{
  label: string
  columns: readonly ResultColumn[]
  rows: readonly ResultRow[]
}>

/**
 * The rows of a part as a table. It draws some, and more on request. The chosen order stays when they are read again.
 */
export function RowsTable({ label, columns, rows }: RowsTableProps) {
  const [wanted, want] = useState(step)
  const [order, setOrder] = useState<ResultOrder | undefined>(undefined)
  const sorted = useMemo(() => sortedRows(columns, rows, order), [columns, rows, order])
  if (rows.length === 0) return <Empty>No rows.</Empty>
  const shown = columns.slice(0, mostColumns)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard
    <section class="part-scroll" tabIndex={0} aria-label={`Rows of ${label}`}>
      <table class="list part-table">
        <thead>
          <tr>
            {shown.map((column, at) => (
              <ColumnHead
                key={at}
                column={column}
                order={order?.column === at ? order : undefined}
                sort={() => setOrder(nextOrder(order, at))}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, wanted).map((row, at) => (
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
      <LeftOutNote columns={columns.length} rows={rows.length} isSorted={order !== undefined} />
    </section>
  )
}

type HeadProps = Readonly<{ column: ResultColumn; order: ResultOrder | undefined; sort: () => void }>

function ColumnHead({ column: { name, type }, order, sort }: HeadProps) {
  const sorted = order && (order.isDescending ? 'descending' : 'ascending')
  return (
    <th scope="col" class={type === 'number' ? 'number' : ''} aria-sort={sorted}>
      <button type="button" class="part-sort" title={`Sort by ${name}`} onClick={sort}>
        {name}
        {order && <span aria-hidden="true">{order.isDescending ? '▾' : '▴'}</span>}
      </button>
    </th>
  )
}

type NoteProps = Readonly<{ columns: number; rows: number; isSorted: boolean }>

function LeftOutNote({ columns, rows, isSorted }: NoteProps) {
  const notes = [
    ...(rows >= mostRows.table
      ? [`The first ${formatCount(rows)} rows of the query${isSorted ? ', sorted here' : ''}.`]
      : []),
    ...(columns > mostColumns ? [`${plural(columns - mostColumns, 'more column')} not shown.`] : []),
  ]
  return notes.length > 0 ? <p class="small muted">{notes.join(' ')}</p> : null
}
