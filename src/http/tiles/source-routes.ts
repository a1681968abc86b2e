import type { FastifyInstance } from 'fastify'
import { errors } from '../../errors.ts'
import { mapsCaller } from '../middleware/authenticate.ts'
import { respondInForm } from '../middleware/error-response.ts'
import { type Parameters, textOf } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { layersNamed } from './request.ts'
import { sourceSchema } from './schemas.ts'
import { sendTileJson } from './send-tile-json.ts'

/** The TileJSON of a table, where deck.gl looks for it. */
export async function tileSourceRoutes(app: FastifyInstance, services: Services): Promise<void> {
  app.setErrorHandler((thrown, request, reply) =>
    respondInForm(thrown as Error, request, reply, ({ message, code }) => ({ error: message, code })),
  )
  app.setValidatorCompiler(() => () => true)

  app.get<Source>('/carto/table', { ...common, schema: sourceSchema }, async (request, reply) => {
    const principal = await mapsCaller(services, request)
    const table = textOf(request.query, 'source')
    if (!table) throw errors.badRequest('The parameter source is missing: it names a table')
    return sendTileJson(services, request, reply, principal, layersNamed(table, request.query))
  })
}

const common = { config: { rateGroup: 'tables' } } as const
type Source = { Querystring: Parameters }
