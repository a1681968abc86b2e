import { isFinal } from '../../src/contract/job-status.ts'
import { toast } from '../parts/toast.tsx'
import { ApiError } from './api-error.ts'
import { readJob } from './jobs.ts'
import { isOpen, knownJobs, markGone, openKnownJobs, updateKnownJob } from './known-jobs.ts'

const everyMs = 3_000

/** Polls the open jobs while the tab is visible. Returns a function that stops it. */
export function followJobs(): () => void {
  const left = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const round = async () => {
    if (document.visibilityState === 'visible') await readOpenJobs(left.signal).catch(() => undefined)
    if (!left.signal.aborted) timer = setTimeout(round, everyMs)
  }
  void round()
  return () => {
    left.abort()
    clearTimeout(timer)
  }
}

async function readOpenJobs(signal: AbortSignal): Promise<void> {
  await openKnownJobs()
  for (const known of knownJobs.value.filter(isOpen)) {
    const job = await readJob(known.id, { signal }).catch(async (error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error
      await markGone(known.id)
      return undefined
    })
    if (!job || job.status === known.status) continue
    await updateKnownJob(job)
    if (isFinal(job.status)) toast(`Job ${job.status}`)
  }
}
