import type { FastifyInstance } from 'fastify'
import { baseUrlOf } from '../middleware/address.ts'
import type { Services } from '../services.ts'

/** The root address: redirects a browser to the console, and answers a program with a document. */
export async function homeRoutes(app: FastifyInstance, { config }: Services): Promise<void> {
  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    const base = baseUrlOf(request, config)
    reply.header('Vary', 'Accept')
    if (request.headers.accept?.includes('text/html')) return reply.redirect('console/')
    return {
      name: 'Cartage',
      console: `${base}/console/`,
      reference: `${base}/docs`,
      openapi: `${base}/openapi.json`,
      health: `${base}/health/ready`,
      accounts: `${base}/user/{name}`,
    }
  })
}
