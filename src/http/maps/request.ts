import type { FastifyRequest } from 'fastify'
import { defaultToken } from '../../contract/key-names.ts'
import { isJsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import type { DataviewRequest } from '../../maps/dataview-sql.ts'
import { withoutAggregation } from '../../maps/map-config.ts'
import type { MapTileRequest } from '../../maps/maps.ts'
import { requireNoNul } from '../middleware/body/refuse-nul.ts'
import { type Parameters, textOf, wholeOf } from '../middleware/parameters.ts'
import { placeOf } from '../tiles/request.ts'
import { packedConfig } from './packed-config.ts'

/** The config of a map, not yet checked: the body, or the parameter `config` or `lzma`. */
export function readConfig({ method, query, body }: FastifyRequest): unknown {
  const parameters = query as Parameters
  if (method === 'POST') return asWanted(body ?? {}, parameters)
  const text = packedConfig(textOf(parameters, 'lzma')) ?? textOf(parameters, 'config')
  if (!text) throw errors.mapInvalid('layergroup GET needs a "config" parameter')
  return asWanted(requireNoNul(parsedParameter('config', text)), parameters)
}

/** Adds what comes as a parameter and makes it another map. */
function asWanted(config: unknown, parameters: Parameters): unknown {
  const filtered = withFilters(config, parameters)
  return wantsAggregation(parameters) ? filtered : withoutAggregation(filtered)
}

/** False: points are to be shown as they are. */
export const wantsAggregation = ({ aggregation }: Parameters) => aggregation !== 'false'

/** The filters of the dataviews. */
function withFilters(config: unknown, parameters: Parameters): unknown {
  const text = textOf(parameters, 'filters')
  if (!text || !isJsonObject(config)) return config
  return { ...config, filters: requireNoNul(parsedParameter('filters', text)) }
}

export function parsedParameter(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw errors.mapInvalid(`The parameter ${name} is not valid JSON`)
  }
}

/** The function that a script of another page calls with the answer. Throws on what is no name. */
export function readCallback({ method, query }: FastifyRequest): string | undefined {
  const callback = method === 'GET' ? textOf(query as Parameters, 'callback') : undefined
  if (callback === undefined || isCallback(callback)) return callback
  throw errors.badRequest('Invalid callback: it must be the name of a function')
}

export const isCallback = (text: unknown): text is string =>
  typeof text === 'string' && /^[A-Za-z_$][\w$.]{0,127}$/.test(text)

/** The token stands in the addresses of tiles only if it was sent in the address or the body. */
export function tokenForAddresses({ headers, query, body }: FastifyRequest): string | undefined {
  if (headers.authorization !== undefined) return undefined
  const { api_key, map_key } = query as Parameters
  const found = [api_key, map_key, isJsonObject(body) ? body.api_key : undefined].find(
    (value) => value !== undefined && value !== '',
  )
  return typeof found === 'string' && found !== defaultToken ? found : undefined
}

export function readDataviewRequest({ query }: FastifyRequest): DataviewRequest {
  const parameters = query as Parameters
  const isOn = (name: string) => parameters[name] === '1' || parameters[name] === 'true'
  if (parameters.own_filter !== undefined && parameters.no_filters !== undefined)
    throw errors.dataviewInvalid('Both own_filter and no_filters cannot be sent in the same request')
  return {
    bbox: textOf(parameters, 'bbox'),
    circle: textOf(parameters, 'circle'),
    polygon: textOf(parameters, 'polygon'),
    ownFilter: isOn('own_filter'),
    noFilters: isOn('no_filters'),
    start: numberOf(parameters, 'start'),
    end: numberOf(parameters, 'end'),
    bins: wholeOf(parameters, 'bins', 1, 1_000),
    categories: wholeOf(parameters, 'categories', 1, 10_000),
    offset: numberOf(parameters, 'offset'),
    aggregation: textOf(parameters, 'aggregation'),
    search: undefined,
  }
}

function numberOf(parameters: Parameters, name: string): number | undefined {
  const text = textOf(parameters, name)
  if (text === undefined) return undefined
  const number = text === '' ? Number.NaN : Number(text)
  if (Number.isFinite(number)) return number
  throw errors.dataviewInvalid(`Invalid number format for parameter '${name}'`)
}

/** What opens a named map, as often as it was sent. */
export function viewerTokens({ query }: FastifyRequest): readonly string[] {
  const parameters = query as Parameters
  return [parameters.auth_token, parameters['auth_token[]']]
    .flat()
    .filter((token): token is string => typeof token === 'string' && token !== '')
}

/** A map by its id; what follows a colon only tells caches apart. */
export const mapIdIn = ({ params }: FastifyRequest) =>
  (params as { layergroupid: string }).layergroupid.split(':', 1)[0]!

export function readMapTileRequest({ params, query }: FastifyRequest): MapTileRequest {
  const { layer, z, x, y } = params as Record<'z' | 'x' | 'y', string> & { layer?: string }
  const place = placeOf(z, x, y)
  return { layers: layer, place, isAggregated: wantsAggregation(query as Parameters) }
}
