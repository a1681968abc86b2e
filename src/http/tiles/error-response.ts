import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../../errors.ts'
import { hintHeader } from '../middleware/credential/credential-hint.ts'
import { respondInForm, type Thrown } from '../middleware/error-response.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The answer is a tile. Clients read its body whatever the status, so that of a reached limit is empty, and its headers tell the reason. */
    isTile?: boolean
  }
}

/** `{"errors":[...],"errors_with_context":[...]}`, as clients of maps read it. */
export function respondWithMapError(thrown: Thrown, request: FastifyRequest, reply: FastifyReply): void {
  const form = mapErrorForm(request)
  respondInForm(thrown, request, reply, (error) => {
    if (error.kind !== 'limited' || !request.routeOptions.config.isTile) return form(error)
    reply.header('carto-tile-error', tileFaults[error.code] ?? 'rate-limit')
    reply.header(hintHeader, textOf(error).replace(/[^ -~]/g, '?'))
    if (!reply.hasHeader('retry-after')) reply.header('retry-after', patienceSeconds)
    return Buffer.alloc(0)
  })
}

/** The errors of a route. */
export const mapErrorForm = (request: FastifyRequest) => (error: AppError) =>
  mapErrorBody(error, typeOf(error, request.routeOptions.config.rateGroup))

function mapErrorBody(error: AppError, type: string): Record<string, unknown> {
  const { hint, detail, sqlstate } = error.extras
  const message = type === 'limit' ? textOf(error) : error.message
  const layer = error.extras.body?.layer
  const context = {
    type,
    ...(type === 'limit' && { subtype: subtypeOf(error) }),
    message,
    ...(layer !== undefined && { layer }),
  }
  return { errors: [message], errors_with_context: [context], code: error.code, sqlstate, detail, hint }
}

/** What was too much, and what to do about it. */
const textOf = ({ message, extras: { hint } }: AppError) => (hint ? `${message}. ${hint}` : message)

function typeOf({ kind, code, extras }: AppError, group: string | undefined): string {
  if (kind === 'limited') return 'limit'
  if (
    kind === 'unauthenticated' ||
    code === 'api-forbidden' ||
    code === 'account-suspended' ||
    code === 'template-forbidden' ||
    code === 'user-unknown'
  )
    return 'auth'
  if (code === 'database' || code === 'not-found' || extras.body?.layer) return 'layer'
  if (code === 'dataview-invalid') return 'dataview'
  if (code === 'map-invalid' || code === 'map-unknown') return 'mapconfig'
  return code === 'bad-request' ? (typesByGroup[group ?? ''] ?? 'tile') : 'unknown'
}

/** What a parameter or a body that cannot be read is about, by the rate group of the route. */
const typesByGroup: Readonly<Record<string, string>> = {
  map: 'mapconfig',
  named: 'mapconfig',
  dataview: 'dataview',
}

function subtypeOf({ code }: AppError): string {
  if (code === 'tile-too-large') return 'size'
  return code === 'statement-timeout' ? 'datasource' : 'rate-limit'
}

const tileFaults: Readonly<Record<string, string>> = {
  'statement-timeout': 'timeout',
  'tile-too-large': 'size',
  'tiles-busy': 'busy',
}

/** The same tile will be too slow or too large again, unless its table changes. */
const patienceSeconds = 60
