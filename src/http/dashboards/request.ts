import type { FastifyRequest } from 'fastify'
import type { ExpectedDashboard } from '../../dashboards/dashboard-version.ts'
import { errors } from '../../errors.ts'

/** Undefined: a request replaces or deletes what is there. */
export function readExpected({ headers }: FastifyRequest): ExpectedDashboard | undefined {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers
  if (match !== undefined && noneMatch !== undefined)
    throw errors.badRequest('Send either If-Match or If-None-Match')
  if (noneMatch !== undefined && noneMatch.trim() !== '*') throw errors.badRequest('If-None-Match must be *')
  if (noneMatch !== undefined) return { kind: 'none' }
  if (match === undefined) return undefined
  return match.trim() === '*' ? { kind: 'any' } : { kind: 'version', versions: versionsIn(match) }
}

/** A tag begins with the version of the dashboard; the rest, which also a proxy may change, is of its queries. */
const versionsIn = (match: string) =>
  match.split(',').map((tag) => {
    const [, version] = /^(?:W\/)?"([^".]+)[^"]*"$/.exec(tag.trim()) ?? []
    if (version === undefined) throw errors.badRequest('If-Match must be the ETag of a dashboard, or *')
    return version
  })
