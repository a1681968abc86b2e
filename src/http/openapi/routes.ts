import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { OpenAPIV3 } from 'openapi-types'
import { errors } from '../../errors.ts'
import { loadReference } from './load-reference.ts'

/** The description of the API: for programs, and for people to read and try out. Everything it needs comes from here. */
export async function openapiRoutes(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.apiDescription())

  // Few ask for the reference, and it would be a good part of the start of a process: it is loaded for the first who does.
  let reference: Promise<FastifyInstance> | undefined
  for (const path of ['/docs', '/docs/*']) {
    app.get(path, { schema: { hide: true } }, async ({ method, url, headers }, reply) => {
      reference ??= app.apiDescription().then(openReference)
      const answer = await (await reference).inject({ method: method as 'GET' | 'HEAD', url, headers })
      if (answer.statusCode === 404) throw errors.pathUnknown()
      return reply.code(answer.statusCode).headers(headersOf(answer)).send(answer.rawPayload)
    })
  }
  app.addHook('onClose', async () => (await reference)?.close())
}

/** An application of its own, as nothing can be added to one that has started. */
async function openReference(description: unknown): Promise<FastifyInstance> {
  const { fastify, swagger, swaggerUi, folder } = await loadReference()
  const reference = fastify()
  // Its types know no later version.
  const document = description as OpenAPIV3.Document
  await reference.register(swagger, { mode: 'static', specification: { document } })
  await reference.register(swaggerUi, {
    routePrefix: '/docs',
    baseDir: folder,
    theme: { title: 'Cartage API' },
    uiConfig: { deepLinking: true, docExpansion: 'list', tryItOutEnabled: true, validatorUrl: null },
    staticCSP: {
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': ["'self'", "'unsafe-inline'"],
      'img-src': ["'self'", 'data:'],
      'connect-src': "'self'",
      'frame-ancestors': "'none'",
      'base-uri': "'none'",
    },
  })
  return reference
}

/** Those of the connection are for the one that answers. */
function headersOf({ headers }: LightMyRequestResponse): LightMyRequestResponse['headers'] {
  const { connection: _, date: __, 'transfer-encoding': ___, ...ours } = headers
  return ours
}
