import { keyOrders, keyTypes } from '../../contract/key-names.ts'
import { maxKeyNameLength } from '../../contract/limits.ts'
import { answered, onceHeaders, pageLinks, paging, repeated } from '../middleware/schemas.ts'
import { grantShapes, newKeyShape } from './shapes.ts'

export const grants = { type: 'array', items: { title: 'Grant', oneOf: Object.values(grantShapes) } } as const
const { database } = grantShapes
const { tables } = database.properties
const { owner } = tables.items.properties

/** Where a request may say anything of who owns a table, an answer says yes or no. */
const shownTables = {
  ...tables,
  items: {
    ...tables.items,
    properties: { ...tables.items.properties, owner: { ...owner, type: 'boolean' } },
  },
} as const
const shownDatabase = { ...database, properties: { ...database.properties, tables: shownTables } } as const
const shownGrants = {
  type: 'array',
  items: { title: 'ShownGrant', oneOf: Object.values({ ...grantShapes, database: shownDatabase }) },
} as const
const timestamp = { type: 'string', examples: ['2026-01-31 10:00:00 +0000'] } as const

export const keyDocument = {
  title: 'Key',
  ...answered({
    name: { type: 'string' },
    user: answered({ username: { type: 'string' } }),
    type: { type: 'string', enum: keyTypes },
    token: { type: 'string' },
    grants: shownGrants,
    created_at: timestamp,
    updated_at: timestamp,
  }),
  examples: [
    {
      name: 'reader',
      user: { username: 'alice' },
      type: 'regular',
      token: 'cartage_...',
      grants: [
        { type: 'apis', apis: ['sql'] },
        {
          type: 'database',
          tables: [{ schema: 'public', name: 'airports', owner: false, permissions: ['select'] }],
          schemas: [],
        },
      ],
      created_at: '2026-01-31 10:00:00 +0000',
      updated_at: '2026-01-31 10:00:00 +0000',
    },
  ],
} as const

const keyList = answered({
  total: { type: 'integer' },
  count: { type: 'integer' },
  result: {
    type: 'array',
    items: { allOf: [keyDocument, answered({ _links: answered({ self: { type: 'string' } }) })] },
  },
  _links: pageLinks,
})

const failure = (description: string) => ({
  title: 'KeyError',
  description,
  type: 'object',
  properties: { errors: { type: 'string' }, errors_cause: { type: 'null' } },
})

const refusals = {
  401: failure('Authentication wrong or missing'),
  403: failure('The key does not allow the request'),
  404: failure('The addressed resource does not exist'),
}

const account = {
  name: { type: 'string', description: 'A username, or the name of an organization' },
} as const
const key = { key: { type: 'string', description: 'The name of the key, percent-encoded' } } as const
export const credential = {
  api_key: { type: 'string', description: 'A master token, if there is no Basic header' },
  target_user: {
    type: 'string',
    description: 'The organization member who has the keys; for the owner and admins',
  },
} as const

const common = { tags: ['keys'], querystring: { type: 'object', properties: credential } } as const
export const onAccount = { ...common, params: { type: 'object', properties: account } } as const
export const onKey = { ...common, params: { type: 'object', properties: { ...account, ...key } } } as const

/** Which keys are listed, and in which order. */
export const keyListing = {
  ...paging,
  order: { type: 'string', enum: keyOrders, default: 'updated_at' },
  order_direction: { ...paging.order_direction, default: 'asc' },
  type: { type: 'string', description: `A comma list of ${keyTypes.join(', ')}` },
} as const

export const listSchema = {
  ...onAccount,
  summary: 'List keys',
  querystring: {
    type: 'object',
    properties: {
      ...keyListing,
      ...credential,
    },
  },
  response: { 200: keyList, 400: failure('A parameter has a bad value'), ...refusals },
} as const

export const createSchema = {
  ...onAccount,
  summary: 'Create a regular key',
  description: 'Every grant becomes a privilege of a PostgreSQL role of its own.',
  body: {
    ...newKeyShape,
    required: ['name', 'grants'],
    properties: { ...newKeyShape.properties, name: { type: 'string', maxLength: maxKeyNameLength }, grants },
    examples: [
      {
        name: 'reader',
        grants: [
          { type: 'apis', apis: ['sql'] },
          {
            type: 'database',
            tables: [{ schema: 'public', name: 'airports', permissions: ['select'] }],
          },
        ],
      },
    ],
  },
  headers: onceHeaders,
  response: {
    201: keyDocument,
    ...refusals,
    409: failure(repeated),
    422: failure('The name or a grant is not valid'),
  },
} as const

export const readSchema = {
  ...onKey,
  summary: 'Read a key',
  response: { 200: keyDocument, ...refusals },
} as const

export const deleteSchema = {
  ...onKey,
  summary: 'Delete a regular key',
  description: 'What the key made goes to the user. Answers the key as it was.',
  response: { 200: keyDocument, ...refusals },
} as const

export const regenerateSchema = {
  ...onKey,
  summary: 'Give a key a new token',
  description: 'The old token fails from the next request on, and what it was doing is ended.',
  response: { 200: keyDocument, ...refusals },
} as const
