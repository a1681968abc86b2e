import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import type { ShownMap } from '../../maps/named/named-maps.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { findCountries, readSharedPage } from '../console/console-files.ts'
import { framedPolicy, originsOfStyle } from '../console/policy.ts'
import { viewedAccount } from '../maps/find-map.ts'
import { viewerTokens } from '../maps/request.ts'
import { accountUrlOf, baseUrlOf } from '../middleware/address.ts'
import { clientGone } from '../middleware/client-gone.ts'
import type { Thrown } from '../middleware/error-response.ts'
import { type Parameters, textOf } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { readMaxAge } from '../tiles/request.ts'
import { sendTagged, setCaching } from '../tiles/send-tile-json.ts'
import { themes } from './basemap.ts'
import { htmlType, respondToViewer } from './error-response.ts'
import { MapPage } from './map-page.ts'
import { mapPageSchema, mapStyleSchema, mapTileJsonSchema } from './schemas.ts'
import { styleDocument, tileJsonOf } from './style-document.ts'

/** Named maps for people: as a page, and for their programs as a MapLibre style or TileJSON. No key is needed. */
export async function mapPageRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  const { config } = services
  const countries = await findCountries()
  const page = new MapPage(await readSharedPage('map', config))
  app.setErrorHandler((error, request, reply) => respondToViewer(error as Thrown, request, reply, page))
  app.setValidatorCompiler(() => () => true)

  app.get<Shown>('/map/:template.json', { ...opens, schema: mapStyleSchema }, async (request, reply) => {
    const theme = themeOf(request)
    const maxAge = readMaxAge(request)
    const shown = await shownMap(services, request, clientGone(reply))
    const { principal } = shown.template
    const document = styleDocument(shown, {
      url: accountUrlOf(request, config, principal.account),
      world: countries && `${baseUrlOf(request, config)}/console/assets/${countries}`,
      theme,
      allowed: config.mapBasemaps,
      maxAge,
    })
    return sendTagged(request, reply, principal, document, maxAge)
  })

  const described = { ...opens, schema: mapTileJsonSchema }
  app.get<Shown>('/api/v1/map/named/:template/tiles.json', described, async (request, reply) => {
    const { template } = request.params
    const maxAge = readMaxAge(request)
    const account = await viewedAccount(services, request)
    const tokens = viewerTokens(request)
    const { shown, map } = await services.namedMaps.describe(account, template, tokens, clientGone(reply))
    const document = tileJsonOf(shown, map, { url: accountUrlOf(request, config, account), maxAge })
    return sendTagged(request, reply, shown.template.principal, document, maxAge)
  })

  app.get<Shown>('/map/:template', { ...shows, schema: mapPageSchema }, async (request, reply) => {
    const { template, view } = await openedMap(services, request)
    setCaching(reply, template.principal, undefined)
    const tiles = config.mapBasemaps.filter(({ address }) => address === view.basemap)
    const origins = tiles.map(({ address }) => new URL(address).origin)
    reply.headers(framedPolicy(view.basemap === 'world' ? originsOfStyle(config) : origins))
    return reply.type(htmlType).send(page.of(view, template.stored.name))
  })
}

type Shown = { Params: { template: string } }

const opens = { config: { rateGroup: 'map' } } as const
const shows = { config: { rateGroup: 'map', isPage: true } } as const

async function shownMap(services: Services, request: FastifyRequest, gone: AbortLike): Promise<ShownMap> {
  const { template } = request.params as Shown['Params']
  const account = await viewedAccount(services, request)
  return services.namedMaps.show(account, template, viewerTokens(request), gone)
}

async function openedMap(services: Services, request: FastifyRequest) {
  const { template } = request.params as Shown['Params']
  return services.namedMaps.view(await viewedAccount(services, request), template, viewerTokens(request))
}

function themeOf({ query }: FastifyRequest) {
  const text = textOf(query as Parameters, 'theme') ?? 'light'
  const theme = themes.find((known) => known === text)
  if (theme) return theme
  throw errors.badRequest(`theme must be one of ${themes.join(', ')}`)
}
