import { randomUUID } from 'node:crypto'
import { parse as parseQuery } from 'node:querystring'
import { type FastifyInstance, fastify, LogController } from 'fastify'
import { acceptBodies } from './body.ts'
import { allowOtherOrigins } from './cors.ts'
import { hintAtNearMisses } from './credential-hint.ts'
import { respondWithError } from './error-response.ts'
import { forbidSniffing, guardAnswers, refuseNonsense } from './guard-answers.ts'
import { describeApi } from './openapi.ts'
import { limitRates } from './rate-limit.ts'
import { acceptedRequestId } from './request-id.ts'
import { adminRoutes } from './routes/admin.ts'
import { copyRoutes } from './routes/copy.ts'
import { docsRoutes } from './routes/docs.ts'
import { healthRoutes } from './routes/health.ts'
import { homeRoutes } from './routes/home.ts'
import { jobsRoutes } from './routes/jobs.ts'
import { keysRoutes } from './routes/keys.ts'
import { metricsRoutes } from './routes/metrics.ts'
import { neighbourRoutes, rootNeighbourRoutes } from './routes/neighbours.ts'
import { openapiRoutes } from './routes/openapi.ts'
import { queryRoutes } from './routes/query.ts'
import type { Services } from './services.ts'
import { tellRequests } from './tell-requests.ts'
import { traceRequests } from './trace-requests.ts'
import { refuseUnknownRoutes } from './unknown-routes.ts'

/** The way of a request: id, log, body, route; every error leaves through respondWithError. */
export async function buildServer(services: Services): Promise<FastifyInstance> {
  const app = createApp(services)
  app.setErrorHandler(respondWithError)
  refuseUnknownRoutes(app)
  await describeApi(app, services.config.publicUrl)
  app.decorateRequest('identification', null)
  app.decorateRequest('failure', null)
  traceRequests(app)
  tellRequests(app, services)
  await allowOtherOrigins(app)
  acceptBodies(app, services.config.requestTimeoutMs)
  hintAtNearMisses(app)
  limitRates(app, services)
  await app.register(homeRoutes, services)
  await app.register(healthRoutes, services)
  await app.register(metricsRoutes, services)
  await app.register(openapiRoutes)
  await app.register(docsRoutes)
  await app.register(rootNeighbourRoutes, services)
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
  await app.register(neighbourRoutes, here)
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
