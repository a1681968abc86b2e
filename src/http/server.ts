import { randomUUID } from 'node:crypto'
import { parse as parseQuery } from 'node:querystring'
import { type FastifyInstance, fastify, LogController } from 'fastify'
import { errors } from '../errors.ts'
import { LazyLog } from '../log/log.ts'
import { activityRoutes } from './activity/routes.ts'
import { adminRoutes } from './admin/routes.ts'
import { cliRoutes } from './cli/routes.ts'
import { consoleRoutes } from './console/routes.ts'
import { copyRoutes } from './copy/routes.ts'
import { dashboardPageRoutes } from './dashboards/page-routes.ts'
import { dashboardsRoutes } from './dashboards/routes.ts'
import { datasetsRoutes } from './datasets/routes.ts'
import { exportsRoutes } from './exports/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { historyRoutes } from './history/routes.ts'
import { homeRoutes } from './home/routes.ts'
import { importsRoutes } from './imports/routes.ts'
import { jobsRoutes } from './jobs/routes.ts'
import { fullKeysRoutes } from './keys/full-routes.ts'
import { invitationRoutes } from './keys/invitation-routes.ts'
import { keysRoutes } from './keys/routes.ts'
import { mapPageRoutes } from './map-page/routes.ts'
import { namedMapsRoutes } from './maps/named-routes.ts'
import { mapsRoutes } from './maps/routes.ts'
import { meRoutes } from './me/routes.ts'
import { acceptBodies } from './middleware/body/body.ts'
import { limitBodies } from './middleware/body/body-budget.ts'
import { refuseNul } from './middleware/body/refuse-nul.ts'
import { allowOtherOrigins } from './middleware/cors.ts'
import { hintAtNearMisses } from './middleware/credential/credential-hint.ts'
import { respondWithError, respondWithKeyError } from './middleware/error-response.ts'
import { forbidSniffing, guardAnswers, refuseMalformed } from './middleware/guard-answers.ts'
import { observeRequests } from './middleware/observe-requests.ts'
import { maxParamsLength } from './middleware/parameters.ts'
import { limitRates, requireRateGroups } from './middleware/rate-limit.ts'
import { acceptedRequestId } from './middleware/request-id.ts'
import { traceRequests } from './middleware/trace-requests.ts'
import { refuseBeforeBody, refuseUnknownRoutes } from './middleware/unknown-routes.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { OneWriteResponse } from './one-write-response.ts'
import { describeApi } from './openapi/describe-api.ts'
import { openapiRoutes } from './openapi/routes.ts'
import { savedQueriesRoutes } from './queries/routes.ts'
import { queryRoutes } from './query/routes.ts'
import { schedulesRoutes } from './schedules/routes.ts'
import type { Services } from './services.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { tilesRoutes } from './tiles/routes.ts'
import { tileSourceRoutes } from './tiles/source-routes.ts'
import { UndrainedRequest } from './undrained-request.ts'
import { uploadsRoutes } from './uploads/routes.ts'
import { usageRoutes } from './usage/routes.ts'
import { webhooksRoutes } from './webhooks/routes.ts'

/** The path of a request: what every request passes, in this order, and then its route. */
export async function buildServer(services: Services): Promise<FastifyInstance> {
  const { publicUrl, requestTimeoutMs } = services.config
  const app = createApp(services)
  describeApi(app, publicUrl)
  traceRequests(app)
  observeRequests(app, services)
  allowOtherOrigins(app)
  acceptBodies(app, requestTimeoutMs)
  refuseBeforeBody(app)
  limitBodies(app, services)
  refuseNul(app)
  hintAtNearMisses(app)
  limitRates(app, services)

  await add(app, homeRoutes, services)
  await add(app, consoleRoutes, services)
  await add(app, cliRoutes, services)
  await add(app, healthRoutes, services)
  await add(app, openapiRoutes, services)
  await add(app, meRoutes, services)
  await add(app, adminRoutes, services, '/admin/v1')
  await add(app, sessionRoutes, services)
  await add(app, accountRoutes, services, '/user/:name')
  await add(app, accountRoutes, services, '/u/:name')
  return app
}

/** Only health and metrics, for a process that only runs jobs. */
export async function buildWorkerServer(services: Services): Promise<FastifyInstance> {
  const app = createApp(services)
  await add(app, healthRoutes, services)
  return app
}

/** The endpoints of one account. */
async function accountRoutes(app: FastifyInstance, services: Services): Promise<void> {
  requireRateGroups(app)
  await add(app, keysRoutes, services, '/api/v3')
  await add(app, fullKeysRoutes, services, '/api/v4')
  await add(app, invitationRoutes, services, '/api/v4')
  await add(app, jobsRoutes, services)
  await add(app, schedulesRoutes, services)
  await add(app, webhooksRoutes, services)
  await add(app, queryRoutes, services)
  await add(app, copyRoutes, services)
  await add(app, exportsRoutes, services)
  await add(app, savedQueriesRoutes, services)
  await add(app, dashboardsRoutes, services)
  await add(app, dashboardPageRoutes, services)
  await add(app, importsRoutes, services)
  await add(app, uploadsRoutes, services)
  await add(app, datasetsRoutes, services)
  await add(app, usageRoutes, services)
  await add(app, activityRoutes, services)
  await add(app, historyRoutes, services)
  await add(app, tilesRoutes, services)
  await add(app, tileSourceRoutes, services)
  await add(app, mapsRoutes, services)
  await add(app, namedMapsRoutes, services)
  await add(app, mapPageRoutes, services)
}

type Routes = (app: FastifyInstance, services: Services) => Promise<void>

/** Each noun in a scope of its own: its hooks, parsers and errors do not affect the others. */
async function add(app: FastifyInstance, routes: Routes, services: Services, prefix = ''): Promise<void> {
  await app.register(async (scope) => routes(scope, services), { prefix })
}

function createApp({ config, log }: Services): FastifyInstance {
  const app = fastify({
    loggerInstance: new LazyLog(log.level, () => log),
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: (request) => acceptedRequestId(request) ?? randomUUID(),
    bodyLimit: smallBodyBytes,
    // The routes wait for nothing but a core. Ten seconds, the default, were too few on a machine that was overloaded.
    pluginTimeout: 60_000,
    // An invalid path has no route and passes no hook, but gets the same error format as its neighbours.
    frameworkErrors: ({ code }, request, reply) => {
      const respond = keysPath.test(request.url) ? respondWithKeyError : respondWithError
      // Not Fastify's own text, which repeats the URL with the token in it.
      const isLong = code === 'FST_ERR_MAX_PARAM_LENGTH'
      const error = errors.badRequest(
        isLong ? 'A part of the path is too long' : 'The path is not a valid URL',
      )
      respond(error, request, forbidSniffing(reply))
    },
    clientErrorHandler: refuseMalformed,
    trustProxy: config.trustedProxies || false,
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: false,
      maxParamLength: 4_000,
      querystringParser: parseQuery,
    },
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        useDefaults: true,
        allErrors: false,
        // The schemas are ours. Compiling the meta-schema takes longer than compiling all of them.
        validateSchema: false,
      },
    },
    forceCloseConnections: 'idle',
    // Open connections get their pending answers and are then closed.
    return503OnClosing: false,
    // A body may take hours (copyfrom); small ones are timed in acceptBodies.
    requestTimeout: 0,
    http: {
      headersTimeout: config.requestTimeoutMs,
      connectionsCheckingInterval: 5_000,
      // The config of a map may be in the address.
      maxHeaderSize: 80 * 1024,
      IncomingMessage: UndrainedRequest,
      ServerResponse: OneWriteResponse,
    },
  }) as unknown as FastifyInstance
  app.decorateRequest('identification', null)
  app.decorateRequest('failure', null)
  app.setErrorHandler(respondWithError)
  refuseUnknownRoutes(app)
  guardAnswers(app)
  oneAtATime(app.server, config.requestTimeoutMs)
  return app
}

/** Limit for everything but the SQL and the data of a copy. */
const smallBodyBytes = maxParamsLength
const keysPath = /^\/(user|u)\/[^/]*\/api\/v3\//
