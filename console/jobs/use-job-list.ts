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
}>

const everyMs = 3_000
const perPage = 50
/** A filter applies when typing pauses. */
const typingMs = 250

const readPage = (filter: JobFilter, after: string | null, signal?: AbortSignal) =>
  requestJson<JobList>('listJobs', {
    query: { ...filter, per_page: perPage, after: after ?? undefined },
    signal,
  })

/** The result of one filter: an answer to an earlier filter is not shown. */
type Read = Readonly<{ wanted: string; jobs: readonly FullJobDocument[]; next: string | null }>

/** The jobs of the account, newest first. The newest page is polled while the tab is visible. */
export function useJobList(filter: JobFilter): ShownJobs {
  const [state, setState] = useState<Read | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const wanted = JSON.stringify([session.value?.username, filter])
  const read = state?.wanted === wanted ? state : undefined
  useEffect(() => {
    const left = new AbortController()
    const readNewest = async () => {
      const page = await readPage(filter, null, left.signal)
      if (left.signal.aborted) return
      setState((former) => ({ ...(former?.wanted === wanted ? withNewest(former, page) : page), wanted }))
      setError(undefined)
    }
    const round = async () => {
      if (document.visibilityState === 'visible')
        await readNewest().catch((failure: unknown) => isAbort(failure) || setError(failure))
      if (!left.signal.aborted) timer = setTimeout(round, everyMs)
    }
    let timer = setTimeout(round, state ? typingMs : 0)
    return () => {
      left.abort()
      clearTimeout(timer)
    }
  }, [wanted])
  const next = read?.next ?? null
  const readOlder = async () => {
    const page = await readPage(filter, next)
    setState((former) =>
      former?.wanted === wanted ? { wanted, jobs: joined(former.jobs, page.jobs), next: page.next } : former,
    )
  }
  return { jobs: read?.jobs, error, readOlder: next === null ? undefined : readOlder }
}

/** So many new jobs may have come that the page does not reach those already read. */
function withNewest(former: Omit<Read, 'wanted'>, page: JobList): Omit<Read, 'wanted'> {
  const ids = new Set(former.jobs.map(({ job_id }) => job_id))
  const isConnected = page.next === null || page.jobs.some(({ job_id }) => ids.has(job_id))
  return isConnected ? { jobs: joined(page.jobs, former.jobs), next: former.next } : page
}

/** Of a job in both lists the first one counts. */
function joined(newer: readonly FullJobDocument[], older: readonly FullJobDocument[]) {
  const ids = new Set(newer.map(({ job_id }) => job_id))
  return [...newer, ...older.filter(({ job_id }) => !ids.has(job_id))]
}
