import type { FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import type { LayersRequest, TileRequest } from '../../tiles/tiles.ts'
import { type Parameters, textOf, wholeOf } from '../middleware/parameters.ts'

/** Reads the address of a tile and its parameters; throws on the first bad one. */
export function readTileRequest({ params, query }: FastifyRequest, maxFeatures: number): TileRequest {
  const { table, z, x, y } = params as Record<'table' | 'z' | 'x' | 'y', string>
  const parameters = query as Parameters
  return {
    ...layersNamed(table, parameters),
    place: placeOf(z, x, y),
    maxFeatures: wholeOf(parameters, 'limit', 1, maxFeatures) ?? maxFeatures,
  }
}

/** An empty list of columns is one. */
export function layersNamed(table: string, parameters: Parameters): LayersRequest {
  return {
    table,
    columns: textOf(parameters, 'columns')
      ?.split(',')
      .filter((name) => name !== ''),
  }
}

/** Seconds for which the client need not ask again; undefined: it asks each time. */
export const readMaxAge = ({ query }: FastifyRequest) => wholeOf(query as Parameters, 'max_age', 1, 3600)

/** In the addresses of tiles: they are kept as long as the answer that has these addresses. */
export function withMaxAge(query: URLSearchParams, maxAge: number | undefined): URLSearchParams {
  const kept = new URLSearchParams(query)
  if (maxAge !== undefined) kept.set('max_age', String(maxAge))
  return kept
}

export function placeOf(zText: string, xText: string, yText: string): TileRequest['place'] {
  const [yDigits = '', ...extension] = yText.split('.')
  const format = extension.join('.')
  if (!['', 'mvt', 'pbf'].includes(format))
    throw errors.badRequest(
      `Unsupported format ${format.slice(0, 20)}: this server makes vector tiles (mvt)`,
      format === 'grid.json' ? insteadOfGrids : insteadOfPictures,
    )
  const z = digits('z', zText)
  if (z > deepestZoom)
    throw errors.badRequest(`Invalid z: it must be a whole number from 0 to ${deepestZoom}`)
  const wide = 2n ** z
  const y = digits('y', yDigits)
  return {
    z: Number(z),
    x: Number(digits('x', xText) % wide),
    y: Number(y < wide ? y : wide),
  }
}

const insteadOfPictures =
  'Ask for .mvt, and draw it with MapLibre, deck.gl or another client that reads vector tiles'
const insteadOfGrids =
  'A feature of a vector tile has its columns. More of them: {layer}/attributes/{cartodb_id} of the map, if its layer has "attributes"'

function digits(name: string, text: string): bigint {
  if (/^\d{1,40}$/.test(text)) return BigInt(text)
  throw errors.badRequest(`Invalid ${name}: it must be a whole number`)
}

const deepestZoom = 30n
