import { useState } from 'preact/hooks'
import { hasCode } from '../../src/client/cartage-error.ts'
import type { UserDocument } from '../../src/contract/documents.ts'
import { ApiError } from '../api/api-error.ts'
import { deleteUser, readMasterKey, readUser } from '../api/operator.ts'
import { ConfirmedAct } from '../parts/confirmed-act.tsx'
import { copyText } from '../parts/copy-button.tsx'
import { formatTime } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { hrefOf, navigate } from '../parts/route.ts'
import { toast } from '../parts/toast.tsx'
import { UserLimits } from './user-limits.tsx'

export function OneUserPage({ username }: Readonly<{ username: string }>) {
  const user = useLoaded((signal) => readUser(username, signal), [username])
  if (user.error instanceof ApiError && user.error.status === 404 && !hasCode(user.error, 'admin-off')) {
    return (
      <Empty>
        <span>There is no user “{username}”.</span>
        <a class="button" href={hrefOf('/operator/users')}>
          All users
        </a>
      </Empty>
    )
  }
  return <Load from={user}>{(found) => <KnownUser of={found} reload={user.reload} />}</Load>
}

function KnownUser({ of: user, reload }: Readonly<{ of: UserDocument; reload: () => void }>) {
  const [error, setError] = useState<unknown>(undefined)
  const { username, organization, org_role, created_at } = user
  const copyKey = () =>
    readMasterKey(username).then((token) => copyText(token, 'Master key copied'), setError)
  const remove = async () => {
    await deleteUser(username)
    toast(`The user ${username} is deleted`)
    navigate('/operator/users')
  }
  return (
    <>
      <div class="page-head">
        <div class="stack tight grow">
          <p class="small">
            <a href={hrefOf('/operator/users')}>Users</a> /
          </p>
          <h1 class="name">{username}</h1>
          <p class="muted">
            Made {formatTime(created_at)}
            {organization && `, ${org_role} of ${organization}`}.
          </p>
        </div>
        <button type="button" title="That it was looked at is recorded" onClick={copyKey}>
          Copy the Master key
        </button>
        <ConfirmedAct name={username} label="Delete" act="Delete the user" run={remove} failed={setError}>
          <p>
            Everything that {username} has is deleted for good: tables, jobs and keys. Programs that use one
            of the keys stop working at once.
          </p>
        </ConfirmedAct>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <UserLimits key={JSON.stringify(user)} of={user} reload={reload} />
    </>
  )
}
