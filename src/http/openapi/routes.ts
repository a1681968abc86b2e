import type { FastifyInstance } from 'fastify'

/** The description of the API, for programs. */
export async function openapiRoutes(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
}
