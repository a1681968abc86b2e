import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

/** Pages of any origin may use what belongs to an account, also its errors; nothing else. */
export async function allowOtherOrigins(app: FastifyInstance): Promise<void> {
  // At the root, as a preflight may ask for a path or method that no route has.
  await app.register(cors, {
    delegator: (request, callback) =>
      callback(null, /^\/(user|u)\//.test(request.url) ? forAccounts : { origin: false }),
  })
}

const forAccounts: FastifyCorsOptions = {
  origin: '*',
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  exposedHeaders: [
    'X-Request-Id',
    'Location',
    'Retry-After',
    'Content-Disposition',
    'Idempotency-Replayed',
    'Cartage-Hint',
    'Carto-Rate-Limit-Limit',
    'Carto-Rate-Limit-Remaining',
    'Carto-Rate-Limit-Reset',
  ],
  maxAge: 86_400,
}
