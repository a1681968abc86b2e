import { useEffect, useState } from 'preact/hooks'
import type { JobDocument } from '../../src/contract/documents.ts'
import { isFinal } from '../../src/contract/job-status.ts'
import { isAbort } from '../api/api-error.ts'
import { readJobPatiently } from '../api/jobs.ts'
import { rememberJob } from '../api/known-jobs.ts'
import { session } from '../api/session.ts'
import { tell } from '../parts/live.tsx'

export type Followed = Readonly<{ job: JobDocument | undefined; error: unknown; again: () => void }>

const waitSeconds = 30
const progressMs = 1_500

/**
 * Follows a job until it has ended, while the tab is visible: one request waits for the end, others in between read its
 * progress.
 */
export function useFollowedJob(id: string): Followed {
  const [job, setJob] = useState<JobDocument | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [round, setRound] = useState(0)
  const again = () => setRound((former) => former + 1)
  useEffect(() => {
    const left = new AbortController()
    setError(undefined)
    const show = (next: JobDocument) => {
      if (left.signal.aborted) return
      setJob((former) => (former && isOlder(next, former) ? former : next))
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

/** Two requests run at a time, and their answers can arrive out of order. */
const isOlder = (next: JobDocument, former: JobDocument) =>
  next.job_id === former.job_id && next.updated_at < former.updated_at

async function follow(id: string, signal: AbortSignal, show: (job: JobDocument) => void): Promise<void> {
  const first = await readJobPatiently(id, { signal })
  await rememberJob(first)
  show(first)
  const untilEnd = async () => {
    while (!signal.aborted) show(await readJobPatiently(id, { waitSeconds, signal }))
  }
  const progress = async () => {
    while (!signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, progressMs))
      if (!signal.aborted) show(await readJobPatiently(id, { signal }))
    }
  }
  await Promise.all([untilEnd(), progress()])
}
