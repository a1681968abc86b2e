import { useState } from 'preact/hooks'
import { session } from '../api/session.ts'
import { readTables, shownTable, type Table } from '../api/tables.ts'
import { hrefOf, pathTo } from '../parts/browser/route.ts'
import { loadSample } from '../parts/browser/sample.ts'
import { useCommands } from '../parts/commands.ts'
import { FilterField, LeftOut } from '../parts/controls/filter-field.tsx'
import { formatAge, formatBytes, formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'

/** The filter finds the others. */
const mostShown = 500

export function TableList() {
  const tables = useLoaded(readTables, [session.value])
  const [filter, setFilter] = useState('')
  useCommands([{ name: 'Refresh tables', run: tables.reload }])
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Tables</h1>
        <FilterField label="Filter tables" value={filter} change={setFilter} />
        <a class="button primary" href={hrefOf('/upload')}>
          Upload
        </a>
      </div>
      <Load from={tables}>{(found) => <Found tables={found} filter={filter} />}</Load>
    </>
  )
}

function Found({ tables, filter }: Readonly<{ tables: readonly Table[]; filter: string }>) {
  const text = filter.trim().toLowerCase()
  const found = tables.filter((table) => shownTable(table).toLowerCase().includes(text))
  if (tables.length === 0) return <NoTables />
  if (found.length === 0) return <Empty>No table name contains “{filter}”.</Empty>
  return (
    <>
      <div class="panel flush scroll-x">
        <table class="list tables-list">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Kind</th>
              <th scope="col" class="number">
                Rows
              </th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">Geometry</th>
              <th scope="col">Privacy</th>
              <th scope="col">Changed</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, mostShown).map((table) => (
              <Line key={shownTable(table)} {...table} />
            ))}
          </tbody>
        </table>
      </div>
      <LeftOut count={found.length - mostShown} noun="table" />
    </>
  )
}

function NoTables() {
  const { isBusy, error, begin } = useWork()
  return (
    <Empty>
      <span>
        No tables yet. Drop a file here, or <a href={hrefOf('/sql')}>write CREATE TABLE</a>.
      </span>
      {session.value?.token !== null && (
        <button type="button" disabled={isBusy} onClick={() => void begin(loadSample)}>
          Load sample data
        </button>
      )}
      {error !== undefined && <ErrorNotice error={error} />}
    </Empty>
  )
}

function Line(table: Table) {
  return (
    <tr>
      <td>
        <a href={hrefOf(pathTo('tables', table.schema, table.name))}>{shownTable(table)}</a>
      </td>
      <td>{table.kind}</td>
      <td class="number">{rowsOf(table)}</td>
      <td class="number">{formatBytes(table.bytes)}</td>
      <td>{table.geometry}</td>
      <td>
        <PrivacyBadge {...table} />
      </td>
      <td title={table.changedAt ?? undefined}>{table.changedAt && formatAge(table.changedAt)}</td>
    </tr>
  )
}

const rowsOf = ({ rows, kind }: Table) =>
  kind.endsWith('view') && rows <= 0
    ? ''
    : rows < 0
      ? 'not counted yet'
      : `about ${formatCount(Math.round(rows))}`

/** Includes the unit; empty for a view without an estimate. */
export const rowsText = (table: Table) =>
  table.rows < 0 ? rowsOf(table) && 'rows not counted yet' : rowsOf(table) && `${rowsOf(table)} rows`

export function PrivacyBadge({ privacy }: Pick<Table, 'privacy'>) {
  if (!privacy) return null
  return <span class={`badge ${privacy === 'PUBLIC' ? 'info' : ''}`}>{privacy.toLowerCase()}</span>
}
