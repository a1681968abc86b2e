import { answered, apiKey, text } from '../middleware/schemas.ts'
import { createMapSchema, making, mapLayerTileSchema } from './schemas.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const tags = ['maps']
const params = { type: 'object', properties: { name: { type: 'string', examples: ['alice'] } } } as const
const templateParams = {
  type: 'object',
  properties: { ...params.properties, template: text('The name of the named map') },
} as const
const anyObject = { type: 'object', additionalProperties: true } as const

const template = {
  version: { const: '0.0.1' },
  name: text('Letters, digits, `_` and `-`'),
  auth: { ...anyObject, description: '`method`: `open` or `token`, then with `valid_tokens`' },
  placeholders: {
    ...anyObject,
    description:
      'By name, each with `type` (`sql_literal`, `sql_ident`, `number`, `css_color`) and `default`',
  },
  layergroup: { ...anyObject, description: 'The config of a map, with `<%= name %>` for placeholders' },
  view: {
    type: ['object', 'null'],
    additionalProperties: true,
    description:
      'What its page shows: `title`, `description`, `style` (layers of a MapLibre style), `basemap`, `popup`, `legend`, `zoom`, `center`, `bounds`',
  },
  api_key: apiKey,
} as const

const body = { type: 'object', required: ['version', 'name', 'layergroup'], properties: template } as const
const { api_key: _key, ...members } = template
const written = { 200: { description: 'Its name', ...answered({ template_id: { type: 'string' } }) } }
const tokens = { auth_token: text('One of `auth.valid_tokens` of the named map') } as const

export const listNamedMapsSchema = {
  tags,
  summary: 'List named maps',
  description: 'Keys see their own, the master key all.',
  params,
  response: {
    200: {
      description: 'Their names',
      ...answered({ template_ids: { type: 'array', items: { type: 'string' } } }),
    },
  },
} as const

export const createNamedMapSchema = {
  tags,
  summary: 'Make a named map',
  description:
    'A named map runs as the key that made it, for everybody who may open it, and is deleted with this key.',
  params,
  body,
  response: written,
} as const

export const readNamedMapSchema = {
  tags,
  summary: 'Read a named map',
  params: templateParams,
  response: {
    200: {
      description: 'As it was sent',
      ...answered({
        template: { type: 'object', required: ['version', 'name', 'layergroup'], properties: members },
        runs_as: text('The name of the key that made it'),
      }),
    },
  },
} as const

export const replaceNamedMapSchema = {
  tags,
  summary: 'Replace a named map',
  description: 'Ends the maps that were opened before. The named map still runs as the key that made it.',
  params: templateParams,
  body,
  response: written,
} as const

export const deleteNamedMapSchema = {
  tags,
  summary: 'Delete a named map',
  description: 'Ends the maps that were made of it.',
  params: templateParams,
  response: { 204: { description: 'It is gone', type: 'null' } },
} as const

export const openNamedMapSchema = {
  tags,
  summary: 'Open a named map',
  description:
    'Needs no key. The members of the body are the values of placeholders; missing values are the defaults.',
  security: [],
  params: templateParams,
  querystring: { type: 'object', properties: { ...tokens, ...making } },
  body: anyObject,
  response: createMapSchema.response,
} as const

export const namedMapScriptSchema = {
  tags,
  summary: 'Open a named map, with the values in the address',
  security: [],
  params: templateParams,
  querystring: {
    type: 'object',
    properties: {
      ...tokens,
      config: text('The values of placeholders as JSON'),
      callback: text('Answers with a script that calls this function (JSONP)'),
      ...making,
    },
  },
  response: createMapSchema.response,
} as const

const { layergroupid: _id, ...placeParams } = mapLayerTileSchema.params.properties

export const namedMapTileSchema = {
  ...mapLayerTileSchema,
  summary: 'Read a vector tile of a named map',
  description: 'With the defaults of its placeholders.',
  security: [],
  params: { type: 'object', properties: { ...placeParams, template: templateParams.properties.template } },
  querystring: {
    type: 'object',
    properties: { ...mapLayerTileSchema.querystring.properties, ...tokens },
  },
} as const
