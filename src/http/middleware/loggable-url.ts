import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUuid } from './parameters.ts'

/** The address of a request without secrets: only words that our routes contain; anything else could be a token. */
export type UrlForLog = (request: FastifyRequest) => string

/** Learns the words from the routes, so call it before they are registered. */
export function loggableUrls(app: FastifyInstance): UrlForLog {
  const segments = new Set<string>()
  const parameters = new Set(['api_key', 'map_key'])
  app.addHook('onRoute', ({ url, schema }) => {
    for (const segment of url.split('/')) if (!segment.startsWith(':')) segments.add(segment)
    const { properties = {} } = (schema?.querystring ?? {}) as { properties?: object }
    for (const name of Object.keys(properties)) parameters.add(name)
  })
  return (request) => {
    const [path = '', query] = request.url.split('?', 2)
    const pattern = request.routeOptions.url
    const known = pattern ? fillIn(pattern, request) : onlyKnown(path, '/', segments)
    if (!query) return known
    const names = query.split('&').map((pair) => pair.split('=', 1)[0])
    return `${known}?${onlyKnown(names.join('&'), '&', parameters)}`
  }
}

function fillIn(pattern: string, request: FastifyRequest): string {
  const { jobId = '' } = request.params as { jobId?: string }
  return pattern
    .replace(':name', () => accountOf(request) ?? ':name')
    .replace(':jobId', () => (isUuid(jobId) ? jobId : ':jobId'))
}

function accountOf({ identification }: FastifyRequest): string | undefined {
  if (identification?.outcome === 'known') return identification.principal.account.username
  return identification?.outcome === 'anonymous' ? identification.account.username : undefined
}

function onlyKnown(text: string, separator: string, known: ReadonlySet<string>): string {
  return text
    .split(separator)
    .map((word) => (word === '' || known.has(word) ? word : '…'))
    .join(separator)
}
