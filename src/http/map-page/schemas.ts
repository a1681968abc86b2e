import { answered, text } from '../middleware/schemas.ts'
import { maxAge, tileJson } from '../tiles/schemas.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const anyObject = { type: 'object', additionalProperties: true } as const

const shared = {
  tags: ['maps'],
  security: [],
  params: {
    type: 'object',
    properties: {
      name: { type: 'string', examples: ['alice'] },
      template: text('The name of the named map'),
    },
  },
} as const

const tokens = { auth_token: text('One of `auth.valid_tokens` of the named map') } as const

export const mapStyleSchema = {
  ...shared,
  summary: 'Read the MapLibre style of a named map',
  description: 'For pages of any origin: `new maplibregl.Map({ container, style: address })`. Needs no key.',
  querystring: {
    type: 'object',
    properties: {
      ...tokens,
      max_age: maxAge,
      theme: { enum: ['light', 'dark'], description: 'Of the built-in basemap' },
    },
  },
  response: {
    200: {
      description: 'A style of MapLibre',
      ...answered({
        version: { const: 8 },
        name: { type: 'string' },
        metadata: { ...anyObject, description: '`cartage`: title, description, popup, legend, bounds' },
        center: { type: 'array', items: { type: 'number' } },
        zoom: { type: 'number' },
        sources: anyObject,
        layers: { type: 'array', items: anyObject },
      }),
    },
  },
} as const

export const mapTileJsonSchema = {
  ...shared,
  summary: 'Read the TileJSON of a named map',
  description: 'With the defaults of its placeholders. Needs no key.',
  querystring: { type: 'object', properties: { ...tokens, max_age: maxAge } },
  response: { 200: { description: 'TileJSON 3.0.0', ...tileJson } },
} as const

export const mapPageSchema = {
  ...shared,
  summary: 'Open the page of a named map',
  description: 'For browsers, also in a frame of another site. Needs no key. Errors are pages, too.',
  querystring: { type: 'object', properties: tokens },
  response: {
    200: {
      description: 'The page',
      content: { 'text/html': { schema: { type: 'string' } } },
    },
  },
} as const
