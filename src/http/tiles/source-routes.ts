import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { hashOf } from '../../tiles/tile-layer.ts'
import { mapTileJson } from '../maps/document.ts'
import { tokenForAddresses, wantsAggregation } from '../maps/request.ts'
import { accountUrlOf } from '../middleware/address.ts'
import { mapsCaller } from '../middleware/authenticate.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { respondInForm } from '../middleware/error-response.ts'
import { type Parameters, textOf, type WithQuery } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { layersNamed, readMaxAge, withMaxAge } from './request.ts'
import { sourceSchema, sqlSourceSchema } from './schemas.ts'
import { sendTagged, sendTileJson } from './send-tile-json.ts'

/** The TileJSON of a table, where deck.gl looks for it. */
export async function tileSourceRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  app.setErrorHandler((thrown, request, reply) =>
    respondInForm(thrown as Error, request, reply, ({ message, code }) => ({ error: message, code })),
  )
  app.setValidatorCompiler(() => () => true)

  app.get<WithQuery>('/carto/table', { ...common, schema: sourceSchema }, async (request, reply) => {
    const principal = await mapsCaller(services, request)
    const table = textOf(request.query, 'source')
    if (!table) throw errors.badRequest('The parameter source is missing: it names a table')
    return sendTileJson(services, request, reply, principal, layersNamed(table, request.query))
  })
  app.get('/carto/sql', { config: { rateGroup: 'map' }, schema: sqlSourceSchema }, (request, reply) =>
    sendSqlSource(services, request, reply),
  )
}

/** The same of a query. */
async function sendSqlSource(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const principal = await mapsCaller(services, request)
  const parameters = request.query as Parameters
  const sql = textOf(parameters, 'source')
  if (!sql) throw errors.badRequest('The parameter source is missing: it is one SELECT')
  const maxAge = readMaxAge(request)
  const source = { sql, isAggregated: wantsAggregation(parameters) }
  const { map, bounds, version } = await services.maps.describeSql(principal, source, clientGone(reply))
  const url = accountUrlOf(request, services.config, principal.account)
  const token = tokenForAddresses(request)
  const query = withMaxAge(new URLSearchParams(token === undefined ? {} : { api_key: token }), maxAge)
  query.set('v', hashOf([map.id, version]).slice(0, 12))
  const name = map.layers[0]!.layer.id
  const tiles = `${url}/api/v1/map/${map.id}/${name}/{z}/{x}/{y}.mvt?${query}`
  const document = mapTileJson(map, { name, tiles, bounds })
  return sendTagged(request, reply, principal, document, maxAge)
}

const common = { config: { rateGroup: 'tables' } } as const
