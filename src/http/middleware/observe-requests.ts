import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../auth/account.ts'
import type { Identification } from '../../auth/identify.ts'
import type { EndpointGroup } from '../../contract/admin-names.ts'
import type { UsageKind } from '../../contract/usage-names.ts'
import type { Log } from '../../log/log.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { type UsageCounts, usageCounts } from '../../usage/usage-counts.ts'
import type { Services } from '../services.ts'
import { clientAddress } from './credential/client-address.ts'
import { loggableUrls, type UrlForLog } from './loggable-url.ts'

/** Gives every request an id that the client sees, one line in the log and one count in the metrics. */
export function observeRequests(app: FastifyInstance, { log, metrics, databases, isReady }: Services): void {
  const usage = usageCounts(databases)
  const urlForLog = loggableUrls(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    // This process is about to stop: the client should open its next connection elsewhere.
    if (!isReady()) reply.header('Connection', 'close')
    // Unlike Fastify's own hooks, this event also fires for answers that were cut short or bypass Fastify.
    const isLogged = log.isLevelEnabled('info')
    // Known only as long as the connection is open.
    const address = isLogged ? clientAddress(request) : ''
    reply.raw.on('close', () => {
      if (isLogged) logRequest(log, request, reply, address, urlForLog)
      countRequest(metrics, request, reply)
      countUse(usage, request)
    })
    done()
  })
}

function logRequest(
  log: Log,
  request: FastifyRequest,
  reply: FastifyReply,
  address: string,
  urlForLog: UrlForLog,
): void {
  log.info(
    {
      reqId: request.id,
      method: request.method,
      url: urlForLog(request),
      status: statusOf(reply),
      address,
      ...describeCaller(request),
      traceId: request.traceId,
      ...describeFailure(request),
      ms: Math.round(reply.elapsedTime * 1000) / 1000,
    },
    'request',
  )
}

/**
 * The account and the name of the key. After a wrong credential the account in the path, which exists: an unknown one may be
 * anything, even a token.
 */
function describeCaller({ identification, params }: FastifyRequest): Record<string, unknown> {
  switch (identification?.outcome) {
    case 'known': {
      const { account, key } = identification.principal
      return { user: account.username, key: key.name }
    }
    case 'anonymous':
      return { user: identification.account.username }
    case 'wrong-credential':
    case 'wrong-username':
      return { user: (params as { name?: string }).name }
    default:
      return {}
  }
}

/** Only the code. The text may quote what the client sent, which may be an unrecognised secret. */
function describeFailure({ failure }: FastifyRequest): Record<string, unknown> {
  return failure ? { code: failure.code, sqlstate: failure.extras.sqlstate } : {}
}

function countRequest(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const { identification } = request
  metrics.requestFinished({
    method: request.method,
    route: request.routeOptions.url ?? 'none',
    status: statusOf(reply),
    keyType: identification?.outcome === 'known' ? identification.principal.key.type : 'none',
    seconds: reply.elapsedTime / 1000,
  })
}

/** For the account that the request was for, whatever its answer; not with a wrong credential. */
function countUse(usage: UsageCounts, { identification, routeOptions, failure }: FastifyRequest): void {
  const rateGroup = routeOptions.config?.rateGroup
  const account = identification && accountOf(identification)
  if (!rateGroup || !account) return
  usage.add(account.userId, kindOfGroup[rateGroup], { requests: 1 })
  usage.addRefusal(account.userId, failure?.extras.accountLimit)
}

function accountOf(identification: Identification): Account | undefined {
  if (identification.outcome === 'known') return identification.principal.account
  return identification.outcome === 'anonymous' ? identification.account : undefined
}

const kindOfGroup = {
  keys: 'key',
  jobs: 'job',
  jobs_read: 'job',
  copyfrom: 'copy',
  copyto: 'copy',
  sql: 'query',
  tables: 'table',
  imports: 'import',
  tile: 'tile',
  map: 'map',
  named: 'map',
  dataview: 'map',
} as const satisfies Record<EndpointGroup, UsageKind>

function statusOf(reply: FastifyReply): number | 'aborted' {
  const { writableFinished, statusCode } = reply.raw
  // A WebSocket is answered past Node's response.
  return writableFinished || statusCode === 101 ? statusCode : 'aborted'
}
