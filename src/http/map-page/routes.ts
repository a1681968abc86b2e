import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import type { ShownMap } from '../../maps/named/named-maps.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { findCountries } from '../console/console-files.ts'
import { viewedAccount } from '../maps/find-map.ts'
import { viewerTokens } from '../maps/request.ts'
import { accountUrlOf, baseUrlOf } from '../middleware/address.ts'
import { type Parameters, textOf } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { sendTagged } from '../tiles/send-tile-json.ts'
import { themes } from './basemap.ts'
import { respondToViewer } from './error-response.ts'
import { mapStyleSchema } from './schemas.ts'
import { styleDocument } from './style-document.ts'

/** Named maps for people: as a MapLibre style. No key is needed. */
export async function mapPageRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  const { config } = services
  const countries = await findCountries()
  app.setErrorHandler(respondToViewer)
  app.setValidatorCompiler(() => () => true)

  app.get<Shown>('/map/:template.json', { ...opens, schema: mapStyleSchema }, async (request, reply) => {
    const theme = themeOf(request)
    const shown = await shownMap(services, request)
    const { principal } = shown.template
    const document = styleDocument(shown, {
      url: accountUrlOf(request, config, principal.account),
      world: countries && `${baseUrlOf(request, config)}/console/assets/${countries}`,
      theme,
      allowed: config.mapBasemaps,
    })
    return sendTagged(request, reply, principal, document)
  })
}

type Shown = { Params: { template: string } }

const opens = { config: { rateGroup: 'map' } } as const

async function shownMap(services: Services, request: FastifyRequest): Promise<ShownMap> {
  const { template } = request.params as Shown['Params']
  return services.namedMaps.show(await viewedAccount(services, request), template, viewerTokens(request))
}

function themeOf({ query }: FastifyRequest) {
  const text = textOf(query as Parameters, 'theme') ?? 'light'
  const theme = themes.find((known) => known === text)
  if (theme) return theme
  throw errors.badRequest(`theme must be one of ${themes.join(', ')}`)
}
