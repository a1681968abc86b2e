import type { FullItemDocument, FullJobDocument, JobDocument, JobQuery, NewItem } from './documents.ts'
import type { JobStatus } from './job-status.ts'
import { maxJobCharacters } from './limits.ts'

/** The items of a job, for every form in which it can be sent. */
export type JobParts = Readonly<{ items: readonly JobItem[]; onsuccess?: string; onerror?: string }>

/** The only item of a job that is one statement has the status of the job. */
export type JobItem = Omit<FullItemDocument, 'status'> &
  Readonly<{ status: FullItemDocument['status'] | JobStatus }>

export function partsOf(job: JobDocument | FullJobDocument): JobParts {
  const { query, status } = job
  if (typeof query === 'string') return { items: [{ query, status, ...ownOf(job) }] }
  if (!('query' in query)) return { items: query }
  const { onsuccess, onerror } = query
  return { items: query.query, ...(onsuccess && { onsuccess }), ...(onerror && { onerror }) }
}

/** What items and jobs have in common, but for fallbacks: a job with fallbacks is a chain. */
type OwnMember = Exclude<
  keyof FullItemDocument & keyof FullJobDocument,
  'query' | 'status' | 'fallback_status' | 'fallback_failed_reason'
>

/** What a job that is one statement says itself. A member that is missing here does not compile. */
const ownMembers: Readonly<Record<OwnMember, true>> = {
  params: true,
  timeout: true,
  rows: true,
  started_at: true,
  ended_at: true,
  failed_reason: true,
  failed_sqlstate: true,
}

const ownOf = (job: object): Pick<FullItemDocument, OwnMember> =>
  Object.fromEntries(Object.entries(job).filter(([name]) => Object.hasOwn(ownMembers, name)))

/**
 * The addresses for a job: the classic ones, which older services have as well, unless the job is too long for them or
 * has parameters.
 */
export const jobAddresses = (query: JobQuery) =>
  charactersOf(query) > maxJobCharacters || hasParams(query)
    ? ({ create: 'createJobByV4', update: 'updateJobByV4' } as const)
    : ({ create: 'createJob', update: 'updateJob' } as const)

function hasParams(query: JobQuery): boolean {
  if (typeof query === 'string') return false
  const items = 'query' in query ? query.query : query
  return items.some((item) => typeof item === 'object' && item.params !== undefined)
}

export const charactersOf = (query: JobQuery) => JSON.stringify({ query }).length

type AnyQuery = string | readonly (string | NewItem)[] | Readonly<{ query: readonly (string | NewItem)[] }>

export function firstStatementOf(query: AnyQuery): string {
  if (typeof query === 'string') return query
  const [first] = 'query' in query ? query.query : query
  return typeof first === 'string' ? first : (first?.query ?? '')
}
