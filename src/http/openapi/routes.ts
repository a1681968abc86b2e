import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** The description of the API: for programs, and for people to read and try out. Everything it needs comes from here. */
export async function openapiRoutes(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
  await app.register(swaggerUi, {
    routePrefix: '/docs',
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
}
