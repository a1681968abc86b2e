import { dataAgeHeader, readFromHeader } from '../middleware/read-from.ts'
import { answered, text } from '../middleware/schemas.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const params = { type: 'object', properties: { name: { type: 'string', examples: ['alice'] } } } as const
const tableParams = {
  type: 'object',
  properties: {
    ...params.properties,
    table: {
      type: 'string',
      description: '`name` or `schema.name`; up to 10, separated by commas',
      examples: ['airports'],
    },
  },
} as const
const digits = (description: string) => ({ type: 'string', pattern: '^[0-9]+$', description }) as const

const columns = text('Names of the columns to show, separated by commas; empty: none. By default all.')
const limit = { type: 'integer', minimum: 1, description: 'Features of a table in a tile' } as const
export const maxAge = {
  type: 'integer',
  minimum: 1,
  maximum: 3600,
  description: 'Seconds for which a browser need not ask again; by default it asks each time',
} as const
export const aggregation = { type: 'boolean', description: 'False: points are shown as they are' } as const
const querystring = { type: 'object', properties: { columns, limit, max_age: maxAge } } as const

export const listSchema = {
  tags: ['maps'],
  summary: 'List the tables that have vector tiles',
  description: 'Tables, views, materialized views and foreign tables with a geometry that the key may read.',
  params,
  response: {
    200: {
      description: 'All of them',
      ...answered({
        tiles: {
          type: 'array',
          items: answered({
            name: { type: 'string' },
            schema: { type: 'string' },
            geometry_type: { type: 'string' },
            url: text('The address of its TileJSON'),
          }),
        },
      }),
    },
  },
} as const

const numbers = { type: 'array', items: { type: 'number' } } as const

export const tileJson = {
  title: 'TileJson',
  ...answered(
    {
      tilejson: { const: '3.0.0' },
      name: { type: 'string' },
      description: { type: 'string' },
      scheme: { const: 'xyz' },
      tiles: { type: 'array', items: { type: 'string' } },
      vector_layers: {
        type: 'array',
        items: answered({
          id: { type: 'string' },
          fields: { type: 'object', additionalProperties: { type: 'string' } },
          description: { type: 'string' },
        }),
      },
      bounds: numbers,
      center: numbers,
      minzoom: { type: 'integer' },
      maxzoom: { type: 'integer' },
      attribution: text('As HTML'),
    },
    ['attribution'],
  ),
} as const

export const tileJsonSchema = {
  tags: ['maps'],
  summary: 'Read the TileJSON of a table',
  description: 'For MapLibre, QGIS and others. A JSON object as the comment of the table adds members to it.',
  params: tableParams,
  querystring,
  response: { 200: { description: 'TileJSON 3.0.0', ...tileJson } },
} as const

export const sourceSchema = {
  tags: ['maps'],
  summary: 'Read the TileJSON of a table, as deck.gl does',
  params,
  querystring: {
    type: 'object',
    required: ['source'],
    properties: { source: text('`name` or `schema.name`'), ...querystring.properties },
  },
  response: { 200: { description: 'TileJSON 3.0.0', ...tileJson } },
} as const

export const sqlSourceSchema = {
  tags: ['maps'],
  summary: 'Read the TileJSON of a query, as deck.gl does',
  params,
  querystring: {
    type: 'object',
    required: ['source'],
    properties: { source: text('One SELECT'), aggregation, max_age: maxAge },
  },
  response: { 200: { description: 'TileJSON 3.0.0', ...tileJson } },
} as const

export const tileSchema = {
  tags: ['maps'],
  summary: 'Read a vector tile of a table',
  description: 'Compressed if the client accepts that. `ETag` and `If-None-Match` are supported.',
  params: {
    type: 'object',
    properties: {
      ...tableParams.properties,
      z: digits('From 0 to 30'),
      x: digits('Beyond the world it begins again'),
      y: { type: 'string', description: 'From the north; `.mvt` or `.pbf` may follow' },
    },
  },
  querystring,
  headers: { type: 'object', properties: readFromHeader },
  response: {
    200: {
      description: 'The tile',
      headers: dataAgeHeader,
      content: { 'application/x-protobuf': { schema: { type: 'string', format: 'binary' } } },
    },
    204: { type: 'null', description: 'The tile is empty' },
    304: { type: 'null', description: 'The client has this tile already' },
  },
} as const
