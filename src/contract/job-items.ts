import type { ItemDocument, JobDocument, JobQuery, NewItem } from './documents.ts'
import type { JobStatus } from './job-status.ts'
import { maxJobCharacters } from './limits.ts'

/** A job in one form, whichever it was sent in. */
export type JobParts = Readonly<{ items: readonly JobItem[]; onsuccess?: string; onerror?: string }>

/** The only item of a job that is one statement has the status of the job. */
export type JobItem = Omit<ItemDocument, 'status'> & Readonly<{ status: ItemDocument['status'] | JobStatus }>

export function partsOf(job: JobDocument): JobParts {
  const { query, status, failed_reason } = job
  if (typeof query === 'string')
    return { items: [{ query, status, ...(failed_reason && { failed_reason }) }] }
  if (!('query' in query)) return { items: query }
  const { onsuccess, onerror } = query
  return { items: query.query, ...(onsuccess && { onsuccess }), ...(onerror && { onerror }) }
}

/** The addresses for a job: the classic ones, which older services have as well, unless it is too long for them. */
export const jobAddresses = (query: JobQuery) =>
  charactersOf(query) > maxJobCharacters
    ? ({ create: 'createJobByV4', update: 'updateJobByV4' } as const)
    : ({ create: 'createJob', update: 'updateJob' } as const)

export const charactersOf = (query: JobQuery) => JSON.stringify({ query }).length

type AnyQuery = string | readonly (string | NewItem)[] | Readonly<{ query: readonly (string | NewItem)[] }>

export function firstStatementOf(query: AnyQuery): string {
  if (typeof query === 'string') return query
  const [first] = 'query' in query ? query.query : query
  return typeof first === 'string' ? first : (first?.query ?? '')
}
