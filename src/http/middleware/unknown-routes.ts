import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** For scopes with their own error format: they refuse unknown paths themselves. */
    refuseUnknownRoute: (request: FastifyRequest, reply: FastifyReply) => never
  }
}

/** Without a route: 405 with the methods of the path, 404 if it has none. Call before the routes are registered. */
export function refuseUnknownRoutes(app: FastifyInstance): void {
  const routes: { method: string; path: RegExp }[] = []
  app.addHook('onRoute', ({ method, url }) => {
    // Preflights are answered everywhere.
    if (url === '*') return
    for (const each of [method].flat()) routes.push({ method: each, path: pathPattern(url) })
  })
  const refuse = ({ method, url }: FastifyRequest, reply: FastifyReply): never => {
    const [path = ''] = url.split('?', 1)
    const allowed = new Set(routes.filter((route) => route.path.test(path)).map((route) => route.method))
    if (allowed.size === 0) throw errors.pathUnknown()
    reply.header('Allow', [...allowed].sort().join(', '))
    throw errors.methodNotAllowed(method)
  }
  app.setNotFoundHandler(refuse)
  app.decorate('refuseUnknownRoute', refuse)
}

/**
 * Before the body is read, whose type would be the first complaint. Call after `acceptBodies`, which hangs up on a body that
 * never ends.
 */
export function refuseBeforeBody(app: FastifyInstance): void {
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.is404) app.refuseUnknownRoute(request, reply)
    done()
  })
}

/** `/user/:name/api/v2/sql`, with or without a trailing slash. */
function pathPattern(url: string): RegExp {
  const segments = url.split('/').map((segment) => {
    if (segment.startsWith(':')) return '[^/]+'
    return segment === '*' ? '.*' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('/')}/?$`)
}
