import type { KeyDocument } from '../../src/contract/documents.ts'
import { shownPermissions, type TablePermission } from '../../src/contract/grants.ts'
import { listAllKeys } from '../api/keys.ts'
import { session } from '../api/session.ts'
import type { Table } from '../api/tables.ts'
import { hrefOf, pathTo } from '../parts/browser/route.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { Table as ListTable } from '../parts/table.tsx'

/** What each key can do with the table, as the service reads it from the catalogs. */
export function AccessView({ table }: Readonly<{ table: Table }>) {
  if (!session.value?.isMaster)
    return <Empty>Sign in with the Master key to see which keys have access.</Empty>
  return <Keys table={table} />
}

function Keys({ table }: Readonly<{ table: Table }>) {
  const keys = useLoaded((signal) => listAllKeys({ signal }), [session.value])
  return (
    <Load from={keys}>
      {(found) => (
        <>
          <ListTable label="Access by key" head={['Key', 'Type', ...shownPermissions]}>
            {found.map((key) => (
              <Line key={key.name} of={key} table={table} />
            ))}
          </ListTable>
          <p class="muted small">
            {table.privacy === 'PUBLIC'
              ? 'This table is public: anyone can read it, with or without a key. '
              : ''}
            Open a key to see all its rights.
          </p>
        </>
      )}
    </Load>
  )
}

function Line({ of: key, table }: Readonly<{ of: KeyDocument; table: Table }>) {
  const may = permissionsOf(key, table)
  return (
    <tr>
      <th scope="row">
        <a href={hrefOf(pathTo('keys', key.name))}>{key.name}</a>
      </th>
      <td>{key.type}</td>
      {shownPermissions.map((permission) => (
        <td key={permission}>{may(permission)}</td>
      ))}
    </tr>
  )
}

function permissionsOf({ type, grants }: KeyDocument, { schema, name, privacy, isOwned }: Table) {
  const own = grants
    .flatMap((grant) => (grant.type === 'database' ? (grant.tables ?? []) : []))
    .find((each) => each.schema === schema && each.name === name)
  return (permission: TablePermission) => {
    if ((type === 'master' && isOwned) || own?.permissions.includes(permission)) {
      return <span class="badge good">yes</span>
    }
    if (permission === 'select' && privacy === 'PUBLIC') return <span class="badge info">public</span>
    return <span class="muted">no</span>
  }
}
