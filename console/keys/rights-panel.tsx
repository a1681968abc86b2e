import { useState } from 'preact/hooks'
import type { KeyDocument } from '../../src/contract/documents.ts'
import { shownPermissions } from '../../src/contract/grants.ts'
import { shownName } from '../api/sql.ts'
import { plural } from '../parts/format.ts'
import { Load, type Loaded } from '../parts/loading.tsx'
import { Empty, Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { labelOf } from './grants-picker.tsx'
import type { KnownRight, KnownTable, Rights } from './rights.ts'
import { quotedTable } from './wanted-key.ts'

const mostShown = 500

/** What the database itself answers to the key, table by table. */
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
          also what it may not
        </label>
        <button type="button" onClick={rights.reload} disabled={rights.isLoading}>
          Ask again
        </button>
      </div>
      {mayRunSql(key) ? (
        <>
          <p class="muted small">
            Asked from the database just now, with the token of this key. Every right is the key’s own, or
            public to all.
          </p>
          <Load from={rights}>{(found) => <Answer {...found} isAll={isAll} />}</Load>
        </>
      ) : (
        <Notice kind="warning">
          This key was not given the API sql: the service refuses every statement, whatever it holds on
          tables.
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
          ? 'It may create nothing.'
          : `It may create in ${schemas.map(shownName).join(', ')}.`}
      </p>
      {found.length === 0 ? (
        <Empty>
          {tables.length === 0 ? 'There are no tables yet.' : 'It may do nothing with any table.'}
        </Empty>
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
        {labelOf(table)}
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
