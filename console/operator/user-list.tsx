import { useState } from 'preact/hooks'
import type { UserDocument } from '../../src/contract/documents.ts'
import { describeKeyQuota, describeQuota } from '../../src/contract/text/sizes.ts'
import { listUsers } from '../api/operator.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { useCommands } from '../parts/commands.ts'
import { FilterField, LeftOut } from '../parts/controls/filter-field.tsx'
import { formatAge, formatTime } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

/** The filter finds the others. */
const mostShown = 200

export function UserListPage() {
  const users = useLoaded(listUsers, [])
  const [filter, setFilter] = useState('')
  useCommands([{ name: 'New user', keys: 'Alt+n', run: () => navigate('/operator/users/new') }])
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Users</h1>
        <FilterField label="Filter users" value={filter} change={setFilter} />
        <a class="button primary" href={hrefOf('/operator/users/new')}>
          New user
        </a>
      </div>
      <Load from={users}>{(found) => <Found users={found} filter={filter.trim().toLowerCase()} />}</Load>
    </>
  )
}

function Found({ users, filter }: Readonly<{ users: readonly UserDocument[]; filter: string }>) {
  const found = users.filter(({ username, organization }) => `${username} ${organization}`.includes(filter))
  if (users.length === 0) return <Empty>No users yet. Create the first one.</Empty>
  if (found.length === 0) return <Empty>No user or organization name contains “{filter}”.</Empty>
  return (
    <>
      <Table label="Users" head={['Name', 'Organization', 'Quota', 'Keys', 'Created']}>
        {found.slice(0, mostShown).map((user) => (
          <tr key={user.username}>
            <td>
              <a href={hrefOf(pathTo('operator', 'users', user.username))}>{user.username}</a>{' '}
              {user.suspended_at !== null && (
                <span class="badge warning" title={user.suspended_reason ?? ''}>
                  suspended
                </span>
              )}
            </td>
            <td>{user.organization && `${user.organization} (${user.org_role})`}</td>
            <td>{describeQuota(user.quota_in_bytes)}</td>
            <td>{describeKeyQuota(user.api_key_quota)}</td>
            <td title={formatTime(user.created_at)}>{formatAge(user.created_at)}</td>
          </tr>
        ))}
      </Table>
      <LeftOut count={found.length - mostShown} noun="user" />
    </>
  )
}
