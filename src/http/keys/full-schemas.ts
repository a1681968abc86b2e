import { readFroms } from '../../contract/key-names.ts'
import { maxKeyDescriptionLength, maxKeyNameLength } from '../../contract/limits.ts'
import { answered, knownExtras, onceHeaders } from '../middleware/schemas.ts'
import { createSchema, credential, grants, keyDocument, keyListing, onAccount, onKey } from './schemas.ts'

/** The OpenAPI description of keys at the addresses of version 4. */

const time = { type: 'string', format: 'date-time' } as const
const maybeTime = { type: ['string', 'null'], format: 'date-time' } as const
const description = { type: 'string', maxLength: maxKeyDescriptionLength } as const
const expires_at = { ...maybeTime, description: 'null: never. From then on the token is refused' } as const
const read_from = {
  type: 'string',
  enum: readFroms,
  description:
    '`replica`: a replica may answer the reads of the key. A request says otherwise with X-Read-From',
} as const

const { token, ...shown } = keyDocument.properties

export const userKey = {
  title: 'UserKey',
  ...answered({
    ...shown,
    description,
    created_at: time,
    updated_at: time,
    expires_at,
    read_from,
    last_used_at: { ...maybeTime, description: 'Known to within five minutes. null: not used yet' },
    invited_until: {
      ...maybeTime,
      description: 'Until then an invitation gives its receiver the key. null: there is none',
    },
  }),
} as const

export const fullKey = { title: 'FullKey', ...answered({ ...userKey.properties, token }) } as const

export const listFullSchema = {
  ...onAccount,
  summary: 'List keys with description, expiry and last use',
  querystring: {
    type: 'object',
    properties: {
      ...keyListing,
      ...credential,
    },
  },
  response: {
    200: {
      description: 'One page of the keys',
      ...answered({ keys: { type: 'array', items: fullKey }, total: { type: 'integer' } }),
    },
  },
} as const

export const createFullSchema = {
  ...onAccount,
  summary: 'Create a regular key, with description and expiry',
  description: createSchema.description,
  body: {
    type: 'object',
    required: ['name', 'grants'],
    properties: {
      name: { type: 'string', maxLength: maxKeyNameLength },
      grants,
      description,
      expires_at,
      read_from,
      ...knownExtras,
    },
    examples: [
      {
        name: 'reader',
        description: 'Of the dashboard in the hall',
        expires_at: '2027-01-31T10:00:00Z',
        grants: [{ type: 'apis', apis: ['sql'] }],
      },
    ],
  },
  headers: onceHeaders,
  response: { 201: { description: 'The key', ...fullKey } },
} as const

export const readFullSchema = {
  ...onKey,
  summary: 'Read a key with description, expiry and last use',
  response: { 200: { description: 'The key', ...fullKey } },
} as const

export const changeFullSchema = {
  ...onKey,
  summary: 'Change grants, expiry, description or read_from of a key in place',
  description:
    'The token stays. `grants` replaces all grants of the key; what it made stays its own. In force in every process when it is answered.',
  body: {
    type: 'object',
    additionalProperties: false,
    properties: { grants, description, expires_at, read_from, ...knownExtras },
    examples: [{ expires_at: '2027-01-31T10:00:00Z', description: 'Of the dashboard in the hall' }],
  },
  response: { 200: { description: 'The key as it is now', ...fullKey } },
} as const
