import { useEffect, useState } from 'preact/hooks'
import { followJob } from '../../src/client/api/follow-job-api.ts'
import type { FullJobDocument } from '../../src/contract/documents.ts'
import { isFinal } from '../../src/contract/job-status.ts'
import { isAbort } from '../api/api-error.ts'
import { waitForService } from '../api/connection.ts'
import { rememberJob } from '../api/known-jobs.ts'
import { ownConnection } from '../api/request.ts'
import { session } from '../api/session.ts'
import { tell } from '../parts/live.tsx'

export type Followed = Readonly<{ job: FullJobDocument | undefined; error: unknown; again: () => void }>

/** Follows a job until it has ended, while the tab is visible, by the events of the service. */
export function useFollowedJob(id: string): Followed {
  const [job, setJob] = useState<FullJobDocument | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [round, setRound] = useState(0)
  const again = () => setRound((former) => former + 1)
  useEffect(() => {
    const left = new AbortController()
    setError(undefined)
    const show = (next: FullJobDocument) => {
      if (left.signal.aborted) return
      setJob(next)
      if (!isFinal(next.status)) return
      left.abort()
      tell(`Job ${next.status}`)
      void rememberJob(next)
    }
    follow(id, left.signal, show).catch((failure: unknown) => {
      if (!left.signal.aborted && !isAbort(failure)) setError(failure)
    })
    const onSight = () => (document.visibilityState === 'visible' ? again() : left.abort())
    document.addEventListener('visibilitychange', onSight)
    return () => {
      left.abort()
      document.removeEventListener('visibilitychange', onSight)
    }
  }, [id, round, session.value])
  return { job, error, again }
}

async function follow(id: string, signal: AbortSignal, show: (job: FullJobDocument) => void): Promise<void> {
  const { connection, name } = ownConnection('followJob')
  let isFirst = true
  for await (const job of followJob(connection, name, id, { signal, onLost: () => void waitForService() })) {
    if (isFirst) await rememberJob(job)
    isFirst = false
    show(job)
  }
}
