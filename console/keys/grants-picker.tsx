import { useState } from 'preact/hooks'
import { apis, shownPermissions } from '../../src/contract/grants.ts'
import type { TableRights } from '../../src/contract/rights-sql.ts'
import { quotedTable, shownTable } from '../api/tables.ts'
import { plural } from '../parts/format.ts'
import { Notice } from '../parts/notice.tsx'
import { mayBeGiven, readsAll, toggle, toggleReading, toggleTable, type WantedKey } from './wanted-key.ts'

type Picking = Readonly<{ wanted: WantedKey; change: (next: WantedKey) => void }>

/** Chooses the rights of a key, among those the user can grant. */
export function GrantsPicker({
  wanted,
  change,
  tables,
  schemas,
  like,
  problem,
}: Picking &
  Readonly<{
    tables: readonly TableRights[]
    schemas: readonly string[]
    /** The key being copied. Rights that only it has are offered too. */
    like: WantedKey
    problem?: string | undefined
  }>) {
  return (
    <>
      {problem && (
        <Notice kind="error">
          <p>{problem}</p>
        </Notice>
      )}
      <Choices
        legend="APIs"
        all={apis.filter((api) => api === 'sql' || like.apis.includes(api))}
        chosen={wanted.apis}
        help={wanted.apis.includes('sql') ? undefined : 'Without sql the key cannot run any statement.'}
        toggle={(item) => change({ ...wanted, apis: toggle(wanted.apis, item) })}
      />
      <TablePicker wanted={wanted} change={change} tables={tables} />
      <Choices
        legend="Create tables and views in"
        all={schemas}
        chosen={wanted.schemas}
        toggle={(item) => change({ ...wanted, schemas: toggle(wanted.schemas, item) })}
      />
      <Choices
        legend="Also"
        all={[listing]}
        chosen={wanted.hasTableMetadata ? [listing] : []}
        toggle={() => change({ ...wanted, hasTableMetadata: !wanted.hasTableMetadata })}
      />
      {like.services.length > 0 && (
        <Choices
          legend="Data services"
          all={like.services}
          chosen={wanted.services}
          help="Cartage has no data services. Your own functions can read this list with CDB_Services()."
          toggle={(item) => change({ ...wanted, services: toggle(wanted.services, item) })}
        />
      )}
    </>
  )
}

const listing = 'list names and privacy of all tables'

function Choices<T extends string>({
  legend,
  all,
  chosen,
  toggle: change,
  help,
}: Readonly<{
  legend: string
  all: readonly T[]
  chosen: readonly T[]
  toggle: (item: T) => void
  help?: string | undefined
}>) {
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      {all.map((item) => (
        <label class="check" key={item}>
          <input type="checkbox" checked={chosen.includes(item)} onChange={() => change(item)} />
          <span>{item}</span>
        </label>
      ))}
      {all.length === 0 && <span class="muted">None.</span>}
      {help && <span class="small muted">{help}</span>}
    </fieldset>
  )
}

/** More checkboxes would be slow to draw. The filter finds the others. */
const mostShown = 200

function TablePicker({ wanted, change, tables }: Picking & Readonly<{ tables: readonly TableRights[] }>) {
  const [filter, setFilter] = useState('')
  const text = filter.trim().toLowerCase()
  const found = tables.filter((table) => shownTable(table).toLowerCase().includes(text))
  const readable = found.filter(({ select }) => select === 'all')
  if (tables.length === 0) {
    return (
      <fieldset class="choices">
        <legend>Tables</legend>
        <span class="muted">No tables yet. If this key needs rights on a table, create the table first.</span>
      </fieldset>
    )
  }
  return (
    <fieldset class="choices tables">
      <legend>Tables</legend>
      <div class="row">
        <input
          type="search"
          aria-label="Filter tables"
          placeholder="Filter"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <button
          type="button"
          aria-pressed={readsAll(wanted, readable)}
          onClick={() => change(toggleReading(wanted, readable))}
        >
          Read all{text && ` ${readable.length} found`}
        </button>
        <span class="muted small grow">{plural(wanted.tables.size, 'table')} selected</span>
      </div>
      <Matrix wanted={wanted} change={change} tables={found.slice(0, mostShown)} />
      {found.length > mostShown && (
        <p class="muted small">
          {plural(found.length - mostShown, 'more table')} not shown: filter to find them.
        </p>
      )}
    </fieldset>
  )
}

function Matrix({ wanted, change, tables }: Picking & Readonly<{ tables: readonly TableRights[] }>) {
  return (
    <div class="matrix">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Table</th>
            {shownPermissions.map((permission) => (
              <th scope="col" key={permission}>
                {permission}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tables.map((table) => (
            <tr key={quotedTable(table)}>
              <th scope="row">
                {shownTable(table)}
                {table.kind !== 'table' && <span class="muted"> {table.kind}</span>}
              </th>
              {shownPermissions.map((permission) => (
                <td key={permission}>
                  <input
                    type="checkbox"
                    aria-label={`${permission} on ${shownTable(table)}`}
                    disabled={table[permission] !== 'all'}
                    title={table[permission] === 'all' ? undefined : 'You cannot grant this'}
                    checked={mayBeGiven(wanted, table).includes(permission)}
                    onChange={() => change(toggleTable(wanted, table, permission))}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
