import type { FastifyInstance } from 'fastify'
import type { Services } from '../services.ts'

/** The figures of this process, for Prometheus. */
export async function metricsRoutes(app: FastifyInstance, { metrics }: Services): Promise<void> {
  app.get(
    '/metrics',
    {
      logLevel: 'warn',
      schema: { tags: ['operations'], summary: 'Figures of this process in the Prometheus text format' },
    },
    async (_request, reply) => {
      const { type, text } = await metrics.render()
      return reply.type(type).send(text)
    },
  )
}
