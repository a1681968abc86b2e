import type { FastifyInstance } from 'fastify'
import { baseUrlOf } from '../middleware/address.ts'
import type { Services } from '../services.ts'

/** The first thing that somebody meets who opens the address: the console for a browser, a document for a program. */
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
