import { randomUUID } from 'node:crypto'
import { parse as parseQuery } from 'node:querystring'
import cors from '@fastify/cors'
import swagger from '@fastify/swagger'
import { type FastifyInstance, fastify, LogController } from 'fastify'
import { withoutSecrets } from '../log.ts'
import { acceptBodies } from './body.ts'
import { respondNotFound, respondWithError } from './error-response.ts'
import { adminRoutes } from './routes/admin.ts'
import { healthRoutes } from './routes/health.ts'
import type { Services } from './services.ts'

/** The way of a request: id, log, body, route; every error leaves through respondWithError. */
export async function buildServer(services: Services): Promise<FastifyInstance> {
  const app = createApp(services)
  app.setErrorHandler(respondWithError)
  app.setNotFoundHandler(respondNotFound)
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Cartage', version: '0.1.0' } } })
  tellRequests(app)
  acceptBodies(app, services.config.requestTimeoutMs)
  await app.register(healthRoutes, services)
  await app.register(adminRoutes, { prefix: '/admin/v1', ...services })
  for (const prefix of ['/user/:name', '/u/:name']) await app.register(accountRoutes, { prefix, ...services })
  return app
}

/** Everything that belongs to one account. Any page may call it. */
async function accountRoutes(app: FastifyInstance, _services: Services): Promise<void> {
  await app.register(cors, { origin: '*', methods: corsMethods, exposedHeaders, maxAge: 86_400 })
}

const corsMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const exposedHeaders = [
  'X-Request-Id',
  'Location',
  'Retry-After',
  'Content-Disposition',
  'Idempotency-Replayed',
  'Carto-Rate-Limit-Limit',
  'Carto-Rate-Limit-Remaining',
  'Carto-Rate-Limit-Reset',
]

function createApp({ config, log }: Services): FastifyInstance {
  return fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: (request) => acceptedRequestId(request.headers['x-request-id']) ?? randomUUID(),
    bodyLimit: smallBodyBytes,
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: false,
      maxParamLength: 2_000,
      querystringParser: parseQuery,
    },
    ajv: {
      customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: true, allErrors: false },
    },
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    // A body may take hours (copyfrom); small ones are timed in acceptBodies.
    requestTimeout: 0,
    http: { headersTimeout: config.requestTimeoutMs, connectionsCheckingInterval: 5_000 },
  }) as unknown as FastifyInstance
}

function tellRequests(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        url: withoutSecrets(request.url),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 1000) / 1000,
      },
      'request',
    )
  })
}

function acceptedRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(header) ? header : undefined
}

const smallBodyBytes = 1024 ** 2
