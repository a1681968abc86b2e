import { useState } from 'preact/hooks'
import type { UserDocument } from '../../src/contract/documents.ts'
import { maxReasonLength } from '../../src/contract/limits.ts'
import { resumeUser, suspendUser } from '../api/operator.ts'
import { formatTime } from '../parts/format.ts'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { TextField } from './text-field.tsx'

/** Suspends a user: refuses all its requests. Or resumes it. */
export function SuspensionPanel({ of: user, reload }: Readonly<{ of: UserDocument; reload: () => void }>) {
  const [reason, setReason] = useState('')
  const { isBusy, error, begin } = useWork()
  const { username, suspended_at, suspended_reason } = user
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      await (suspended_at === null ? suspendUser(username, reason) : resumeUser(username))
      toast(suspended_at === null ? `User ${username} suspended` : `User ${username} resumed`)
      reload()
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <h2>{suspended_at === null ? 'Suspend' : 'Suspended'}</h2>
      {suspended_at === null ? (
        <>
          <p class="muted">
            All requests of {username} are refused, running ones end, and jobs wait. The data stays.
          </p>
          <TextField
            label="Reason"
            help={`Callers with a key of ${username} read it. At most ${maxReasonLength} characters.`}
            isRequired
            value={reason}
            change={setReason}
          />
        </>
      ) : (
        <p>
          Since {formatTime(suspended_at)}: {suspended_reason}
        </p>
      )}
      {error !== undefined && <ErrorNotice error={error} />}
      <div>
        <button type="submit" class={suspended_at === null ? 'danger' : 'primary'} disabled={isBusy}>
          {suspended_at === null ? 'Suspend user' : 'Resume user'}
        </button>
      </div>
    </form>
  )
}
