import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { errors } from '../../errors.ts'
import { heldReferenceFile, openReference } from './reference.ts'

/** The description of the API: for programs, and for people to read and try out. Loads nothing from elsewhere. */
export async function openapiRoutes(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.apiDescription())

  // The reference is rarely needed, and would take a good part of the start: it is loaded on first use.
  let reference: Promise<FastifyInstance> | undefined
  for (const path of ['/docs', '/docs/*']) {
    app.get(path, { schema: { hide: true } }, async ({ method, url, headers }, reply) => {
      const file = heldReferenceFile(url)
      if (file) return reply.type(file.type).send(file.content)
      reference ??= app.apiDescription().then(openReference)
      const answer = await (await reference).inject({ method: method as 'GET' | 'HEAD', url, headers })
      if (answer.statusCode === 404) throw errors.pathUnknown()
      return reply.code(answer.statusCode).headers(headersOf(answer)).send(answer.rawPayload)
    })
  }
  app.addHook('onClose', async () => (await reference)?.close())
}

/** Without the headers of the connection, which are set by the outer server. */
function headersOf({ headers }: LightMyRequestResponse): LightMyRequestResponse['headers'] {
  const { connection: _, date: __, 'transfer-encoding': ___, ...ours } = headers
  return ours
}
