import type { FastifyRequest } from 'fastify'
import { jobStatuses } from '../../contract/job-status.ts'
import { defaultPerPage, maxJobsPerPage, maxSearchLength } from '../../contract/limits.ts'
import { errors } from '../../errors.ts'
import type { JobSearch, ListPlace } from '../../jobs/list-store.ts'
import { choiceOf, isUuid, type Parameters, textOf, wholeOf, withoutEmpty } from '../middleware/parameters.ts'

export type WantedJobs = Readonly<{ filter: JobSearch; perPage: number; after: ListPlace | undefined }>

/** Reads which jobs to list; refuses bad values. */
export function readWantedJobs(request: FastifyRequest): WantedJobs {
  const query = withoutEmpty(request.query as Parameters)
  return {
    filter: {
      status: choiceOf(query, 'status', jobStatuses),
      label: textOf(query, 'label'),
      schedule: textOf(query, 'schedule'),
      since: timeOf(query, 'since'),
      until: timeOf(query, 'until'),
      text: searchOf(query),
    },
    perPage: wholeOf(query, 'per_page', 1, maxJobsPerPage) ?? defaultPerPage,
    after: placeOf(query),
  }
}

/** The search takes as long as the text times the SQL that it reads. */
function searchOf(query: Parameters): string | undefined {
  const text = textOf(query, 'text')
  if (text === undefined || text.length <= maxSearchLength) return text
  throw errors.badRequest(`Invalid text: it must have at most ${maxSearchLength} characters`)
}

function timeOf(query: Parameters, name: string): Date | undefined {
  const text = textOf(query, name)
  if (text === undefined) return undefined
  const time = new Date(text)
  // PostgreSQL reads no year beyond these.
  const isGood = /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(time.getTime())
  if (isGood) return time
  throw errors.badRequest(`Invalid ${name}: it must be a time such as 2026-01-31T10:00:00Z`)
}

/** The place of a page's last job, for `after`. */
export const placeText = ({ createdAt, id }: ListPlace) => `${createdAt}-${id}`

function placeOf(query: Parameters): ListPlace | undefined {
  const text = textOf(query, 'after')
  if (text === undefined) return undefined
  const [, createdAt, id] = /^(\d{1,16})-(.{36})$/.exec(text) ?? []
  if (createdAt === undefined || id === undefined || !isUuid(id))
    throw errors.badRequest('Invalid after: it must be the value of next of an earlier page')
  return { createdAt, id }
}
