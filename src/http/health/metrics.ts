import type { FastifyInstance } from 'fastify'
import type { Services } from '../services.ts'

const metricsSchema = {
  tags: ['operations'],
  summary: 'Figures of this process in the Prometheus text format',
  response: {
    200: {
      description: 'Requests, durations, jobs, copies, connections, memory, lag of the event loop',
      content: { 'text/plain': { schema: { type: 'string' } } },
    },
  },
} as const

/** The figures of this process, for Prometheus. */
export async function metricsRoutes(app: FastifyInstance, { metrics }: Services): Promise<void> {
  app.get('/metrics', { logLevel: 'warn', schema: metricsSchema }, async (_request, reply) => {
    const { type, text } = await metrics.render()
    return reply.type(type).send(text)
  })
}
