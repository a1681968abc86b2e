import type { FastifyRequest } from 'fastify'
import { usagePeriods } from '../../contract/usage-names.ts'
import { errors } from '../../errors.ts'
import type { UsageSpan } from '../../usage/usage-store.ts'
import { wantedUsage } from '../../usage/wanted-usage.ts'
import { choiceOf, type Parameters, textOf, withoutEmpty } from '../middleware/parameters.ts'

export type WantedUsage = UsageSpan & Readonly<{ format: 'json' | 'csv' }>

const known = ['since', 'until', 'by', 'format']

/** `others`: further parameters of the route, such as the key. */
export function readWantedUsage(request: FastifyRequest, others: readonly string[] = []): WantedUsage {
  const given = request.query as Parameters
  const unknown = Object.keys(given).find((name) => !known.includes(name) && !others.includes(name))
  if (unknown !== undefined)
    throw errors.badRequest(`Unknown parameter: ${unknown}. Known: ${known.join(', ')}`)
  const query = withoutEmpty(given)
  const words = {
    since: textOf(query, 'since'),
    until: textOf(query, 'until'),
    by: choiceOf(query, 'by', usagePeriods),
  }
  const format = choiceOf(query, 'format', ['json', 'csv']) ?? acceptedFormat(request)
  return { ...wantedUsage(words, new Date()), format }
}

const acceptedFormat = ({ headers: { accept = '' } }: FastifyRequest) =>
  /^\s*text\/csv\b/i.test(accept) ? 'csv' : 'json'
