import { randomUUID } from 'node:crypto'
import { parse as parseQuery } from 'node:querystring'
import { type FastifyInstance, fastify, LogController } from 'fastify'
import { adminRoutes } from './admin/routes.ts'
import { copyRoutes } from './copy/routes.ts'
import { datasetsRoutes } from './datasets/routes.ts'
import { acceptBodies } from './frame/body.ts'
import { allowOtherOrigins } from './frame/cors.ts'
import { hintAtNearMisses } from './frame/credential-hint.ts'
import { respondWithError } from './frame/error-response.ts'
import { forbidSniffing, guardAnswers, refuseNonsense } from './frame/guard-answers.ts'
import { observeRequests } from './frame/observe-requests.ts'
import { limitRates } from './frame/rate-limit.ts'
import { acceptedRequestId } from './frame/request-id.ts'
import { traceRequests } from './frame/trace-requests.ts'
import { refuseUnknownRoutes } from './frame/unknown-routes.ts'
import { metricsRoutes } from './health/metrics.ts'
import { healthRoutes } from './health/routes.ts'
import { homeRoutes } from './home/routes.ts'
import { jobsRoutes } from './jobs/routes.ts'
import { keysRoutes } from './keys/routes.ts'
import { meRoutes } from './me/routes.ts'
import { describeApi } from './openapi/describe-api.ts'
import { docsRoutes } from './openapi/docs.ts'
import { openapiRoutes } from './openapi/routes.ts'
import { queryRoutes } from './query/routes.ts'
import type { Services } from './services.ts'

/** The way of a request: id, log, body, route; every error leaves through respondWithError. */
export async function buildServer(services: Services): Promise<FastifyInstance> {
  const app = createApp(services)
  app.setErrorHandler(respondWithError)
  refuseUnknownRoutes(app)
  await describeApi(app, services.config.publicUrl)
  app.decorateRequest('identification', null)
  app.decorateRequest('failure', null)
  traceRequests(app)
  observeRequests(app, services)
  await allowOtherOrigins(app)
  acceptBodies(app, services.config.requestTimeoutMs)
  hintAtNearMisses(app)
  limitRates(app, services)
  await app.register(homeRoutes, services)
  await app.register(healthRoutes, services)
  await app.register(metricsRoutes, services)
  await app.register(openapiRoutes)
  await app.register(docsRoutes)
  await app.register(meRoutes, services)
  await app.register(adminRoutes, { prefix: '/admin/v1', ...services })
  for (const prefix of ['/user/:name', '/u/:name']) await app.register(accountRoutes, { prefix, ...services })
  return app
}

/** Health and figures alone, for a process that only runs jobs. */
export async function buildWorkerServer(services: Services): Promise<FastifyInstance> {
  const app = createApp(services)
  app.setErrorHandler(respondWithError)
  app.decorateRequest('failure', null)
  refuseUnknownRoutes(app)
  await app.register(healthRoutes, services)
  await app.register(metricsRoutes, services)
  return app
}

/** Everything that belongs to one account. */
async function accountRoutes(app: FastifyInstance, services: Services): Promise<void> {
  // What `services` carries here is also this plugin's own prefix.
  const here = { ...services, prefix: '' }
  await app.register(keysRoutes, here)
  await app.register(jobsRoutes, here)
  await app.register(queryRoutes, here)
  await app.register(copyRoutes, here)
  await app.register(datasetsRoutes, here)
}

function createApp({ config, log }: Services): FastifyInstance {
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: (request) => acceptedRequestId(request) ?? randomUUID(),
    bodyLimit: smallBodyBytes,
    // A path that is no URL has no route and meets no hook, but gets the same bodies.
    frameworkErrors: (error, request, reply) => respondWithError(error, request, forbidSniffing(reply)),
    clientErrorHandler: refuseNonsense,
    trustProxy: config.trustedProxies || false,
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: false,
      maxParamLength: 4_000,
      querystringParser: parseQuery,
    },
    ajv: {
      customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: true, allErrors: false },
    },
    forceCloseConnections: 'idle',
    // Whoever still has a connection is served on it; then it is closed.
    return503OnClosing: false,
    // A body may take hours (copyfrom); small ones are timed in acceptBodies.
    requestTimeout: 0,
    http: { headersTimeout: config.requestTimeoutMs, connectionsCheckingInterval: 5_000 },
  }) as unknown as FastifyInstance
  guardAnswers(app)
  return app
}

const smallBodyBytes = 1024 ** 2
