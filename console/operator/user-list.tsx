import { useRef, useState } from 'preact/hooks'
import type { UserDocument } from '../../src/client/documents.ts'
import { describeQuota } from '../../src/client/sizes.ts'
import { listUsers } from '../api/operator.ts'
import { useActs } from '../parts/acts.ts'
import { formatAge, formatTime, plural } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { hrefOf, navigate, pathTo } from '../parts/route.ts'
import { Table } from './table.tsx'

/** More than a person reads; the filter finds the rest. */
const mostShown = 200

export function UserListPage() {
  const users = useLoaded(listUsers, [])
  const [filter, setFilter] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useActs([
    { name: 'Filter the users', keys: '/', run: () => field.current?.focus() },
    { name: 'New user', keys: 'Alt+n', run: () => navigate('/operator/users/new') },
  ])
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Users</h1>
        <input
          ref={field}
          type="search"
          aria-label="Filter the users"
          placeholder="Filter"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
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
  if (users.length === 0) return <Empty>No users yet. Make the first one.</Empty>
  if (found.length === 0) return <Empty>No user or organization has “{filter}” in its name.</Empty>
  return (
    <>
      <Table label="Users" head={['Name', 'Organization', 'Quota', 'Keys', 'Made']}>
        {found.slice(0, mostShown).map((user) => (
          <tr key={user.username}>
            <td>
              <a href={hrefOf(pathTo('operator', 'users', user.username))}>{user.username}</a>
            </td>
            <td>{user.organization && `${user.organization} (${user.org_role})`}</td>
            <td>{describeQuota(user.quota_in_bytes)}</td>
            <td>{user.api_key_quota === null ? 'as configured' : `at most ${user.api_key_quota}`}</td>
            <td title={formatTime(user.created_at)}>{formatAge(user.created_at)}</td>
          </tr>
        ))}
      </Table>
      {found.length > mostShown && (
        <p class="muted">{plural(found.length - mostShown, 'more user')} not shown: filter to find them.</p>
      )}
    </>
  )
}
