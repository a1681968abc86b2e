import { useState } from 'preact/hooks'
import { hasCode } from '../../src/client/cartage-error.ts'
import type { UserDocument } from '../../src/contract/documents.ts'
import { ApiError } from '../api/api-error.ts'
import { deleteUser, readMasterKey, readUser, stopUserActivity } from '../api/operator.ts'
import { hrefOf, navigate } from '../parts/browser/route.ts'
import { ConfirmedAct } from '../parts/controls/confirmed-act.tsx'
import { copyText } from '../parts/controls/copy-button.tsx'
import { formatTime, plural } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { MovePanel } from './hosts/move-panel.tsx'
import { UserLimits } from './limits/user-limits.tsx'
import { ResetKey } from './reset-key.tsx'
import { SuspensionPanel } from './suspension.tsx'
import { UserKeys } from './user-keys.tsx'
import { UserUsage } from './user-usage.tsx'

export function OneUserPage({ username }: Readonly<{ username: string }>) {
  const user = useLoaded((signal) => readUser(username, signal), [username])
  if (user.error instanceof ApiError && user.error.status === 404 && !hasCode(user.error, 'admin-off')) {
    return (
      <Empty>
        <span>User “{username}” was not found.</span>
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
  const stopAll = () =>
    stopUserActivity(username).then(
      ({ stopped }) => toast(`Stopped ${plural(stopped.length, 'statement')}`),
      setError,
    )
  const remove = async () => {
    await deleteUser(username)
    toast(`User ${username} deleted`)
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
            Created {formatTime(created_at)}
            {organization && `, ${org_role} of ${organization}`}.
          </p>
        </div>
        <button type="button" title="This is recorded in the audit log" onClick={copyKey}>
          Copy Master key
        </button>
        <button
          type="button"
          title="Stops all statements of the user, and cancels its running jobs. Recorded in the audit log"
          onClick={stopAll}
        >
          Stop activity
        </button>
        <ConfirmedAct name={username} label="Delete" act="Delete user" run={remove} failed={setError}>
          <p>
            This permanently deletes all tables, jobs and keys of {username}. Programs that use one of these
            keys stop working at once.
          </p>
        </ConfirmedAct>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <UserLimits key={JSON.stringify(user)} of={user} reload={reload} />
      <UserKeys username={username} />
      <ResetKey username={username} />
      <UserUsage username={username} />
      <MovePanel of={user} />
      <SuspensionPanel key={user.suspended_at} of={user} reload={reload} />
    </>
  )
}
