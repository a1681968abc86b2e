import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Pages of any origin may use the endpoints of accounts, errors included; nothing else. */
export function allowOtherOrigins(app: FastifyInstance): void {
  // At the root, as a preflight may ask for a path or method without a route.
  app.addHook('onRequest', (request, reply, done) => {
    if (!ofAccounts.test(request.url)) return done()
    reply.header('access-control-allow-origin', '*')
    // Long, and only useful to a page of another origin, whose browser sends Origin.
    if (request.headers.origin !== undefined) reply.header('access-control-expose-headers', exposedHeaders)
    if (isPreflight(request)) answerPreflight(request, reply)
    else done()
  })
  // Without a route for this method Fastify calls no hook.
  app.options('*', { schema: { hide: true } }, (_request, reply) => reply.callNotFound())
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/** Allows any header: what a request may do depends on its credential. */
function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  const asked = headers['access-control-request-headers']
  if (asked !== undefined) reply.header('Access-Control-Allow-Headers', asked)
  reply
    .code(204)
    .header('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
    .header('Access-Control-Max-Age', 86_400)
    .header('Vary', 'Access-Control-Request-Headers')
    // Safari waits for a body unless told that there is none.
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
  'X-Total-Rows',
  'X-Data-Age-Ms',
  'Warnings',
  'ETag',
  'X-Layergroup-Id',
  'Carto-Tile-Error',
  'Carto-Tile-Truncated',
  'Tus-Resumable',
  'Tus-Version',
  'Tus-Extension',
  'Tus-Max-Size',
  'Tus-Checksum-Algorithm',
  'Upload-Offset',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Expires',
  'Upload-State',
  'Upload-Error',
  'Carto-Rate-Limit-Limit',
  'Carto-Rate-Limit-Remaining',
  'Carto-Rate-Limit-Reset',
].join(', ')
