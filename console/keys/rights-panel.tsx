import { useState } from 'preact/hooks'
import type { KeyDocument } from '../../src/contract/documents.ts'
import { shownPermissions } from '../../src/contract/grants.ts'
import { shownName } from '../api/sql.ts'
import { quotedTable, shownTable } from '../api/tables.ts'
import { plural } from '../parts/format.ts'
import { Load, type Loaded } from '../parts/loading.tsx'
import { Empty, Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import type { KnownRight, KnownTable, Rights } from './rights.ts'

const mostShown = 500

/** The rights of a key as the database reports them, table by table. */
export function RightsPanel({ of: key, rights }: Readonly<{ of: KeyDocument; rights: Loaded<Rights> }>) {
  const [isAll, setAll] = useState(true)
  return (
    <section class="panel stack" aria-labelledby="rights">
      <div class="row">
        <h2 id="rights" class="grow">
          What may this key do?
        </h2>
        <label class="check">
          <input type="checkbox" checked={isAll} onChange={() => setAll(!isAll)} />
          Show tables without rights
        </label>
        <button type="button" onClick={rights.reload} disabled={rights.isLoading}>
          Refresh
        </button>
      </div>
      {mayRunSql(key) ? (
        <>
          <p class="muted small">
            As the database reports it to this key. “own”: granted to this key. “public”: granted to everyone.
          </p>
          <Load from={rights}>{(found) => <Answer {...found} isAll={isAll} />}</Load>
        </>
      ) : (
        <Notice kind="warning">
          This key does not have the sql API: the service refuses all its statements.
        </Notice>
      )}
    </section>
  )
}

export const mayRunSql = ({ grants }: Pick<KeyDocument, 'grants'>) =>
  grants.some((grant) => grant.type === 'apis' && grant.apis.includes('sql'))

function Answer({ tables, schemas, isAll }: Rights & Readonly<{ isAll: boolean }>) {
  const found = tables.filter(({ rights }) => isAll || Object.keys(rights).length > 0)
  return (
    <>
      <p>
        {schemas.length === 0
          ? 'It cannot create tables.'
          : `It can create tables in ${schemas.map(shownName).join(', ')}.`}
      </p>
      {found.length === 0 ? (
        <Empty>{tables.length === 0 ? 'No tables yet.' : 'No rights on any table.'}</Empty>
      ) : (
        <Table label="Rights by table" head={['Table', ...shownPermissions]}>
          {found.slice(0, mostShown).map((table) => (
            <Line key={quotedTable(table)} {...table} />
          ))}
        </Table>
      )}
      {found.length > mostShown && (
        <p class="muted">{plural(found.length - mostShown, 'more table')} not shown.</p>
      )}
    </>
  )
}

function Line({ rights, isOwner, kind, ...table }: KnownTable) {
  return (
    <tr>
      <th scope="row">
        {shownTable(table)}
        {kind !== 'table' && <span class="muted"> {kind}</span>}
        {isOwner && <span class="badge">owner</span>}
      </th>
      {shownPermissions.map((permission) => (
        <td key={permission}>
          <Mark of={rights[permission]} />
        </td>
      ))}
    </tr>
  )
}

function Mark({ of: known }: Readonly<{ of: KnownRight | undefined }>) {
  if (!known) return <span class="muted">no</span>
  return (
    <span class={`badge ${known.source === 'own' ? 'good' : 'info'}`}>
      {known.source}
      {known.right === 'columns' && ', some columns'}
    </span>
  )
}
