import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { OpenTemplate } from '../../maps/named/named-maps.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { mapsCaller } from '../middleware/authenticate.ts'
import { requireNoNul } from '../middleware/body/refuse-nul.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { type Parameters, textOf } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { readMaxAge } from '../tiles/request.ts'
import { clientOf, one, sendTile } from '../tiles/routes.ts'
import { setCaching } from '../tiles/send-tile-json.ts'
import { viewedAccount } from './find-map.ts'
import { respondByScript } from './jsonp.ts'
import {
  createNamedMapSchema,
  deleteNamedMapSchema,
  listNamedMapsSchema,
  namedMapScriptSchema,
  namedMapTileSchema,
  openNamedMapSchema,
  readNamedMapSchema,
  replaceNamedMapSchema,
} from './named-schemas.ts'
import {
  parsedParameter,
  readCallback,
  readMapTileRequest,
  viewerTokens,
  wantsAggregation,
} from './request.ts'
import { sendLayergroup } from './send-layergroup.ts'

/** Templates of maps, and maps made of them for those who have no key. */
export async function namedMapsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  app.setErrorHandler(respondByScript)
  app.setValidatorCompiler(() => () => true)
  manage(app, services)

  app.post<OneTemplate>(
    '/api/v1/map/named/:template',
    { ...maps, schema: openNamedMapSchema },
    (request, reply) => open(services, request, reply, request.body ?? {}),
  )
  const script = { config: { ...maps.config, hasCallback: true }, schema: namedMapScriptSchema }
  app.get<OneTemplate>('/api/v1/map/named/:template/jsonp', script, (request, reply) => {
    const text = textOf(request.query as Parameters, 'config')
    const values = text ? requireNoNul(parsedParameter('config', text)) : {}
    return open(services, request, reply, values)
  })
  const ofLayer = { ...one, schema: namedMapTileSchema }
  app.get<OneTemplate>('/api/v1/map/named/:template/:layer/:z/:x/:y', ofLayer, async (request, reply) => {
    const template = await opened(services, request)
    const maxAge = readMaxAge(request)
    const asked = readMapTileRequest(request)
    const map = await services.namedMaps.byDefaults(template, clientGone(reply))
    const tile = await services.maps.tile(map, asked, clientOf(request, reply))
    setCaching(reply, template.principal, maxAge)
    return sendTile(reply, tile)
  })
}

type OneTemplate = { Params: { template: string } }

const named = { config: { rateGroup: 'named' } } as const
const maps = { config: { rateGroup: 'map' } } as const

function manage(app: FastifyInstance, services: Services): void {
  const { namedMaps } = services
  app.get('/api/v1/map/named', { ...named, schema: listNamedMapsSchema }, async (request) => ({
    template_ids: await namedMaps.list(await managerOf(services, request)),
  }))
  app.post('/api/v1/map/named', { ...named, schema: createNamedMapSchema }, async (request) => ({
    template_id: await namedMaps.create(await managerOf(services, request), request.body),
  }))
  const read = { ...named, schema: readNamedMapSchema }
  app.get<OneTemplate>('/api/v1/map/named/:template', read, async (request, reply) => {
    const principal = await managerOf(services, request)
    // The document has the tokens of its viewers.
    reply.header('cache-control', 'no-store')
    return namedMaps.read(principal, request.params.template)
  })
  const replace = { ...named, schema: replaceNamedMapSchema }
  app.put<OneTemplate>('/api/v1/map/named/:template', replace, async (request) => {
    const principal = await managerOf(services, request)
    return { template_id: await namedMaps.replace(principal, request.params.template, request.body) }
  })
  const remove = { ...named, schema: deleteNamedMapSchema }
  app.delete<OneTemplate>('/api/v1/map/named/:template', remove, async (request, reply) => {
    await namedMaps.delete(await managerOf(services, request), request.params.template)
    return reply.code(204).send()
  })
}

/** Any key with maps but the public one. */
async function managerOf(services: Services, request: FastifyRequest): Promise<Principal> {
  const principal = await mapsCaller(services, request)
  if (principal.key.type === 'default') throw errors.apiForbidden('Forbidden')
  return principal
}

async function opened(services: Services, request: FastifyRequest): Promise<OpenTemplate> {
  const { template } = request.params as OneTemplate['Params']
  return services.namedMaps.open(await viewedAccount(services, request), template, viewerTokens(request))
}

async function open(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  values: unknown,
): Promise<FastifyReply> {
  const callback = readCallback(request)
  const template = await opened(services, request)
  const maxAge = readMaxAge(request)
  const wanted = { values, isAggregated: wantsAggregation(request.query as Parameters) }
  const map = await services.namedMaps.instantiate(template, wanted, clientGone(reply))
  const { principal, stored, token } = template
  const id = `${principal.account.username}@${stored.revision.slice(0, 8)}@${map.id}`
  const query = new URLSearchParams(token === undefined ? {} : { auth_token: token })
  return sendLayergroup(services, request, reply, { map, id, query, callback, maxAge })
}
