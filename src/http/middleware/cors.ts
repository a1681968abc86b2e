import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Pages of any origin may use what belongs to an account, also its errors; nothing else. */
export function allowOtherOrigins(app: FastifyInstance): void {
  // At the root, as a preflight may ask for a path or method that no route has.
  app.addHook('onRequest', (request, reply, done) => {
    if (!ofAccounts.test(request.url)) return done()
    reply.header('access-control-allow-origin', '*')
    // Long, and of use to a page of another origin alone, whose browser says so.
    if (request.headers.origin !== undefined) reply.header('access-control-expose-headers', exposedHeaders)
    if (isPreflight(request)) answerPreflight(request, reply)
    else done()
  })
  // Without a route of this method Fastify calls no hook.
  app.options('*', { schema: { hide: true } }, (_request, reply) => reply.callNotFound())
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/** Whatever header a page wants to send: what a request may do is up to its credential. */
function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  const asked = headers['access-control-request-headers']
  if (asked !== undefined) reply.header('Access-Control-Allow-Headers', asked)
  reply
    .code(204)
    .header('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
    .header('Access-Control-Max-Age', 86_400)
    .header('Vary', 'Access-Control-Request-Headers')
    // Safari waits for a body unless it is told that there is none.
    .header('Content-Length', 0)
    .send()
}

const ofAccounts = /^\/(user|u)\//

const exposedHeaders = [
  'X-Request-Id',
  'Location',
  'Retry-After',
  'Content-Disposition',
  'Idempotency-Replayed',
  'Cartage-Hint',
  'Carto-Rate-Limit-Limit',
  'Carto-Rate-Limit-Remaining',
  'Carto-Rate-Limit-Reset',
].join(', ')
