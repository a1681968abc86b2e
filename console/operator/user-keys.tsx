import type { UserKeyList } from '../../src/contract/documents.ts'
import { listUserKeys } from '../api/operator.ts'
import { LeftOut } from '../parts/controls/filter-field.tsx'
import { formatAge, formatTime } from '../parts/format.ts'
import { databaseGrantOf, summaryOf } from '../parts/key-summary.tsx'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Table } from '../parts/table.tsx'

/** Each table with what the key may do there. */
const tablesOf = ({ grants }: UserKeyList['keys'][number]) =>
  (databaseGrantOf(grants)?.tables ?? [])
    .map(({ schema, name, permissions }) => `${schema}.${name}: ${permissions.join(', ')}`)
    .join('\n')

/** The keys of a user, without their tokens: which are unused, and which expire. */
export function UserKeys({ username }: Readonly<{ username: string }>) {
  const keys = useLoaded((signal) => listUserKeys(username, signal), [username])
  return (
    <div class="stack">
      <h2>Keys</h2>
      <Load from={keys}>
        {(found) => (
          <>
            <Table
              label="Keys of the user"
              head={['Name', 'Type', 'Description', 'Rights', 'Last used', 'Expires']}
            >
              {found.keys.map((key) => (
                <tr key={key.name}>
                  <td>{key.name}</td>
                  <td>{key.type}</td>
                  <td>{key.description}</td>
                  <td class="small" title={tablesOf(key)}>
                    {summaryOf(key)}
                  </td>
                  <td title={key.last_used_at ? formatTime(key.last_used_at) : ''}>
                    {key.last_used_at ? formatAge(key.last_used_at) : 'never'}
                  </td>
                  <td>{key.expires_at ? formatTime(key.expires_at) : 'never'}</td>
                </tr>
              ))}
            </Table>
            <LeftOut count={found.total - found.keys.length} noun="key" />
          </>
        )}
      </Load>
    </div>
  )
}
