import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import { chooseEncoding } from '../middleware/content-encoding.ts'
import type { Services } from '../services.ts'
import { type ConsoleFile, isPublicData, openConsoleFiles } from './console-files.ts'
import { consolePolicy, originsOfStyle } from './policy.ts'

/** The console: files made by the build, the same for all users. The API decides what a user may do. */
export async function consoleRoutes(app: FastifyInstance, { config }: Services): Promise<void> {
  const files = await openConsoleFiles(config)
  const strictPolicy = consolePolicy([])
  const origins = originsOfStyle(config)
  const policy = consolePolicy(origins)
  const hidden = { schema: { hide: true } }

  app.get<{ Params: { '*': string }; Querystring: { origins?: string } }>(
    '/console/assets/*',
    hidden,
    async (request, reply) => {
      const file = await files?.asset(request.params['*'])
      if (!file) throw errors.pathUnknown()
      // The name contains a hash of the content. A worker uses the policy sent with its own file: that of maps is asked for with the
      // origins of the operator's style. A page with another style, of a process not yet restarted, must not keep this policy.
      const { origins: named } = request.query
      const isSame = named === undefined || named === origins.join(' ')
      reply.header('Cache-Control', isSame ? 'public, max-age=31536000, immutable' : 'no-store')
      reply.headers(named === undefined ? strictPolicy : policy)
      // The basemap of a map on a page of another origin.
      if (isPublicData(request.params['*'])) reply.header('Access-Control-Allow-Origin', '*')
      return sendFile(request, reply, file)
    },
  )
  // Every other path is a page, which the browser renders.
  for (const path of ['/console', '/console/*']) {
    app.get(path, hidden, async (request, reply) => {
      if (!files) throw errors.notFound('The console, which is not in this build,')
      reply.header('Cache-Control', 'no-cache').headers(policy)
      return sendFile(request, reply, files.index)
    })
  }
}

function sendFile({ headers }: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  reply.header('ETag', file.etag).header('Vary', 'Accept-Encoding').type(file.type)
  if (headers['if-none-match']?.includes(file.etag)) return reply.code(304).send()
  const encoding = chooseEncoding(headers['accept-encoding'], smallestFirst)
  if (encoding === null) return reply.send(file.plain)
  return reply.header('Content-Encoding', encoding).send(file[encoding])
}

const smallestFirst = ['br', 'gzip'] as const
