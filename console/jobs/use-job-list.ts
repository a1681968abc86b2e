import { useEffect, useState } from 'preact/hooks'
import type { FullJobDocument, JobFilter, JobList } from '../../src/contract/documents.ts'
import { isAbort } from '../api/api-error.ts'
import { requestJson } from '../api/request.ts'
import { session } from '../api/session.ts'

export type ShownJobs = Readonly<{
  /** Undefined: not read yet. */
  jobs: readonly FullJobDocument[] | undefined
  error: unknown
  /** Reads older jobs; undefined if there are none. */
  readOlder: (() => Promise<void>) | undefined
  again: () => void
}>

const everyMs = 3_000
const perPage = 50

const readPage = (filter: JobFilter, after: string | null, signal?: AbortSignal) =>
  requestJson<JobList>('listJobs', {
    query: { ...filter, per_page: perPage, after: after ?? undefined },
    signal,
  })

/** The jobs of the account, newest first. The newest page is read again and again while the tab is visible. */
export function useJobList(filter: JobFilter): ShownJobs {
  const [newest, setNewest] = useState<JobList | undefined>(undefined)
  const [older, setOlder] = useState<JobList | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [round, setRound] = useState(0)
  const wanted = JSON.stringify(filter)
  useEffect(() => {
    setOlder(undefined)
  }, [wanted, session.value])
  useEffect(() => {
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      if (document.visibilityState === 'visible')
        await readPage(filter, null, left.signal).then(
          (page) => {
            setNewest(page)
            setError(undefined)
          },
          (failure: unknown) => isAbort(failure) || setError(failure),
        )
      if (!left.signal.aborted) timer = setTimeout(read, everyMs)
    }
    void read()
    return () => {
      left.abort()
      clearTimeout(timer)
    }
  }, [wanted, round, session.value])
  const next = (older ?? newest)?.next ?? null
  const readOlder = async () => {
    const page = await readPage(filter, next)
    setOlder({ jobs: [...(older?.jobs ?? []), ...page.jobs], next: page.next })
  }
  return {
    jobs: newest && joined(newest.jobs, older?.jobs ?? []),
    error,
    readOlder: next === null ? undefined : readOlder,
    again: () => setRound((former) => former + 1),
  }
}

/** New jobs push others to the older page, where they may stand already. */
function joined(newest: readonly FullJobDocument[], older: readonly FullJobDocument[]) {
  const ids = new Set(newest.map(({ job_id }) => job_id))
  return [...newest, ...older.filter(({ job_id }) => !ids.has(job_id))]
}
