import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { mapsCaller } from '../middleware/authenticate.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { type Parameters, textOf } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { readMaxAge } from '../tiles/request.ts'
import { clientOf, one, sendTile } from '../tiles/routes.ts'
import { sendTagged, setCaching } from '../tiles/send-tile-json.ts'
import { mapOf, strictestReader } from './find-map.ts'
import { respondByScript, sendAnswer } from './jsonp.ts'
import {
  readCallback,
  readConfig,
  readDataviewRequest,
  readMapTileRequest,
  tokenForAddresses,
} from './request.ts'
import {
  attributesSchema,
  createMapByGetSchema,
  createMapSchema,
  dataviewSchema,
  mapLayerTileSchema,
  mapTileSchema,
  searchSchema,
} from './schemas.ts'
import { sendLayergroup } from './send-layergroup.ts'

/** Maps of SQL, as the role of the key that asks. */
export async function mapsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  app.setErrorHandler(respondByScript)
  // The schemas only describe; the readers report what is wrong.
  app.setValidatorCompiler(() => () => true)

  app.post('/api/v1/map', { ...maps, schema: createMapSchema }, (request, reply) =>
    instantiate(services, request, reply),
  )
  const byScript = { ...maps, config: { ...maps.config, hasCallback: true }, schema: createMapByGetSchema }
  app.get('/api/v1/map', byScript, (request, reply) => instantiate(services, request, reply))
  app.get('/api/v1/map/static/*', { ...maps, schema: { hide: true } }, async () => {
    throw errors.notFound('Static images: this server makes vector tiles. Image')
  })
  app.get('/api/v1/map/:layergroupid/:z/:x/:y', { ...one, schema: mapTileSchema }, (request, reply) =>
    tile(services, request, reply),
  )
  const attributes = { config: { ...dataviews.config, hasCallback: true }, schema: attributesSchema }
  app.get('/api/v1/map/:layergroupid/:layer/attributes/:fid', attributes, async (request, reply) => {
    const callback = readCallback(request)
    const { layer, fid } = request.params as { layer: string; fid: string }
    const { map } = await mapOf(services, request)
    const found = await services.maps.feature(map, layer, fid, clientGone(reply))
    return sendAnswer(request, reply, { reader: strictestReader(map), callback, document: found })
  })
  app.get(
    '/api/v1/map/:layergroupid/analysis/node/:node',
    { ...dataviews, schema: { hide: true } },
    async (request, reply) => {
      const { node } = request.params as { node: string }
      const { map } = await mapOf(services, request)
      if (!map.config.analyses.includes(node)) throw errors.notFound(`Analysis '${node.slice(0, 100)}'`)
      return sendTagged(request, reply, strictestReader(map), { status: 'ready' })
    },
  )
  app.get(
    '/api/v1/map/:layergroupid/dataview/:dataview',
    { ...dataviews, schema: dataviewSchema },
    (request, reply) => dataview(services, request, reply, undefined),
  )
  app.get(
    '/api/v1/map/:layergroupid/dataview/:dataview/search',
    { ...dataviews, schema: searchSchema },
    (request, reply) => dataview(services, request, reply, textOf(request.query as Parameters, 'q') ?? ''),
  )
  const ofLayer = { ...one, schema: mapLayerTileSchema }
  app.get('/api/v1/map/:layergroupid/:layer/:z/:x/:y', ofLayer, (request, reply) =>
    tile(services, request, reply),
  )
}

const dataviews = { config: { rateGroup: 'dataview' } } as const
const maps = { config: { rateGroup: 'map' }, bodyLimit: 512 * 1024 } as const

async function instantiate(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const callback = readCallback(request)
  const principal = await mapsCaller(services, request)
  const maxAge = readMaxAge(request)
  const map = await services.maps.instantiate(principal, readConfig(request), clientGone(reply))
  const token = tokenForAddresses(request)
  const query = new URLSearchParams(token === undefined ? {} : { api_key: token })
  for (const each of map.tokens) query.append('auth_token', each)
  return sendLayergroup(services, request, reply, { map, id: map.id, query, callback, maxAge })
}

async function dataview(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  search: string | undefined,
): Promise<FastifyReply> {
  const { principal, map } = await mapOf(services, request)
  const asked = { ...readDataviewRequest(request), search }
  const { dataview: name } = request.params as { dataview: string }
  const found = await services.maps.dataview(principal, map, name, asked, clientGone(reply))
  return sendTagged(request, reply, principal, found)
}

async function tile(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { map } = await mapOf(services, request)
  const maxAge = readMaxAge(request)
  const asked = readMapTileRequest(request)
  const found = await services.maps.tile(map, asked, clientOf(request, reply))
  setCaching(reply, strictestReader(map), maxAge)
  return sendTile(reply, found)
}
