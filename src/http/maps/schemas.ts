import { answered, apiKey, text } from '../middleware/schemas.ts'
import { aggregation, tileSchema } from '../tiles/schemas.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const tags = ['maps']
const params = { type: 'object', properties: { name: { type: 'string', examples: ['alice'] } } } as const

const anyObject = { type: 'object', additionalProperties: true } as const

const config = {
  version: text('1.0.0 to 1.8.0'),
  layers: {
    type: 'array',
    maxItems: 20,
    items: {
      type: 'object',
      required: ['options'],
      properties: {
        type: { type: 'string', enum: ['mapnik', 'cartodb', 'named', 'http', 'plain'] },
        id: text('The name of the layer in its tiles; by default layer0, layer1, ...'),
        options: {
          ...anyObject,
          description:
            '`sql`: one SELECT, in which `!bbox!`, `!pixel_width!`, `!pixel_height!` and `!scale_denominator!` stand for the tile. `geom_column`, `srid`, `aggregation`, `metadata`, ...: see the docs. Of type `named`: `name`, `config`, `auth_tokens`',
        },
      },
    },
  },
  buffersize: anyObject,
  minzoom: { type: 'integer' },
  maxzoom: { type: 'integer' },
  analyses: { type: 'array', items: anyObject },
  dataviews: anyObject,
  api_key: apiKey,
} as const

const tileJson = answered({
  tilejson: { const: '2.2.0' },
  tiles: { type: 'array', items: { type: 'string' } },
  minzoom: { type: 'number' },
  maxzoom: { type: 'number' },
})
const vector = { type: 'object', properties: { vector: tileJson } } as const

const layergroup = {
  title: 'Layergroup',
  ...answered({
    layergroupid: text('The id of the map in the addresses of its tiles'),
    last_updated: { type: 'string', format: 'date-time' },
    metadata: answered({
      layers: {
        type: 'array',
        items: answered(
          { type: { type: 'string' }, id: { type: 'string' }, meta: anyObject, tilejson: vector },
          ['tilejson'],
        ),
      },
      dataviews: anyObject,
      analyses: { type: 'array', items: anyObject },
      tilejson: vector,
      url: anyObject,
    }),
    cdn_url: answered({ http: { type: 'string' }, https: { type: 'string' } }),
  }),
} as const

const made = { 200: { description: 'The map. It is kept for 24 hours after its last use', ...layergroup } }

const callback = text('Answers with a script that calls this function (JSONP)')

const filters = text('`{"dataviews":{...}}` as JSON: filters of the dataviews')

const { params: tileParams, querystring: tileQuery, response } = tileSchema
const { max_age } = tileQuery.properties

/** Of a map that is made. */
export const making = { aggregation, max_age } as const

export const createMapSchema = {
  tags,
  summary: 'Make a map of SQL',
  description: 'Plans each layer as the role of the key. The same config gives the same map.',
  params,
  querystring: { type: 'object', properties: { filters, ...making } },
  body: { type: 'object', required: ['layers'], properties: config },
  response: made,
} as const

export const createMapByGetSchema = {
  tags,
  summary: 'Make a map of SQL, with the config in the address',
  params,
  querystring: {
    type: 'object',
    properties: {
      config: text('The config as JSON'),
      filters,
      lzma: text('Instead of `config`: as carto.js packs it'),
      callback,
      ...making,
    },
  },
  response: made,
} as const

const { table: _table, ...placeParams } = tileParams.properties
const layergroupid = text('Of a map; what follows its colon may be left out')
const querystring = {
  type: 'object',
  properties: {
    aggregation,
    max_age,
  },
} as const

export const mapTileSchema = {
  tags,
  summary: 'Read a vector tile of a map',
  description: 'With all its layers. Compressed if the client accepts that.',
  params: { type: 'object', properties: { ...placeParams, layergroupid } },
  querystring,
  response,
} as const

export const mapLayerTileSchema = {
  ...mapTileSchema,
  summary: 'Read a vector tile of some layers of a map',
  description: 'Compressed if the client accepts that.',
  params: {
    type: 'object',
    properties: {
      ...placeParams,
      layergroupid,
      layer: text('Index or id, several with commas, or `all`'),
    },
  },
} as const

export const attributesSchema = {
  tags,
  summary: 'Read the attributes of a feature of a map',
  description: 'The columns that the option `attributes` of the layer names.',
  params: {
    type: 'object',
    properties: {
      ...params.properties,
      layergroupid,
      layer: text('Index or id'),
      fid: text('The id of the feature'),
    },
  },
  querystring: { type: 'object', properties: { callback } },
  response: { 200: { description: 'The columns of the feature', ...anyObject } },
} as const

const number = { type: 'number' } as const
const dataviewParams = {
  type: 'object',
  properties: { ...params.properties, layergroupid, dataview: text('Its name in the config') },
} as const
const filtering = {
  bbox: text('West, south, east, north in degrees'),
  circle: text('`{"lat":40,"lng":-3,"radius":1000}` as JSON; the radius is in metres'),
  polygon: text('A polygon of GeoJSON'),
  own_filter: { type: 'integer', enum: [0, 1], description: '1: with the filter of the dataview itself' },
  no_filters: { type: 'integer', enum: [0, 1] },
} as const

export const dataviewSchema = {
  tags,
  summary: 'Compute a dataview of a map',
  description: 'A formula, categories, or a histogram of numbers or dates.',
  params: dataviewParams,
  querystring: {
    type: 'object',
    properties: {
      ...filtering,
      start: number,
      end: number,
      bins: { type: 'integer', minimum: 1, maximum: 1_000 },
      categories: { type: 'integer', minimum: 1, maximum: 10_000 },
      offset: { type: 'number', description: 'Of the time zone, in seconds' },
      aggregation: text('The unit of a histogram of dates: auto, second, minute, ..., millennium'),
    },
  },
  response: { 200: { description: 'By its type', ...anyObject } },
} as const

export const searchSchema = {
  ...dataviewSchema,
  summary: 'Search the categories of a dataview',
  description: 'Those that contain a text.',
  querystring: { type: 'object', properties: { q: { type: 'string' }, ...filtering } },
} as const
