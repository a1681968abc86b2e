import { orgRoles } from '../../contract/admin-names.ts'
import { accountNameRule, maxReasonLength } from '../../contract/limits.ts'
import { userKey } from '../keys/full-schemas.ts'
import { keyListing } from '../keys/schemas.ts'
import { answered, knownExtras } from '../middleware/schemas.ts'
import { effectiveLimits, limitChanges, setLimits } from './plan-schemas.ts'

/** The schemas that validate the admin API, and that its OpenAPI description is made of. */

const username = {
  type: 'string',
  description: accountNameRule,
  examples: ['alice'],
} as const
const quota = {
  type: 'integer',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: '0 is unlimited',
} as const
const masterToken = { type: 'string', description: 'Master token to use instead of a generated one' } as const
const time = { type: 'string', format: 'date-time' } as const
const text = { type: 'string' } as const
const { client } = knownExtras

const owner = {
  type: 'object',
  required: ['username'],
  additionalProperties: false,
  properties: { username, quota_in_bytes: quota, api_key: masterToken },
} as const

const host = {
  type: ['string', 'null'],
  description: 'The PostgreSQL cluster that has its database',
} as const

const user = {
  title: 'User',
  description: 'The user',
  ...answered({
    username,
    organization: { type: ['string', 'null'] },
    org_role: { enum: [...orgRoles, null] },
    quota_in_bytes: quota,
    api_key_quota: { type: ['integer', 'null'], description: 'null: the configured one' },
    limits: { ...setLimits, description: 'Its own limits' },
    plan: { type: ['string', 'null'] },
    effective_limits: effectiveLimits,
    host,
    schema: text,
    created_at: time,
    suspended_at: { type: ['string', 'null'], format: 'date-time', description: 'null: not suspended' },
    suspended_reason: { type: ['string', 'null'] },
  }),
} as const

const userWithToken = {
  ...user,
  title: 'UserWithToken',
  description: 'The user with the master token',
  ...answered({ ...user.properties, api_key: { type: 'string', description: 'The master token' } }),
} as const

const organization = {
  title: 'Organization',
  description: 'The organization',
  ...answered({
    name: username,
    owner: answered({ username: { type: ['string', 'null'] } }),
    host,
    created_at: time,
  }),
} as const

const params = (name: string) => ({ type: 'object', properties: { [name]: username } }) as const

const deleted = (name: string) => ({
  description: 'It is gone',
  ...answered({ [name]: text, deleted: { const: true } }),
})

export const newUserSchema = {
  tags: ['admin'],
  summary: 'Create a user',
  description:
    'Creates the database or schema, the roles and the first two keys; answers 201 with the master token.',
  body: {
    ...owner,
    properties: {
      ...owner.properties,
      organization: { type: 'string', description: 'Name of an existing organization' },
      org_admin: { type: 'boolean' },
      client,
    },
    examples: [{ username: 'alice', quota_in_bytes: 1073741824 }],
  },
  response: { 201: userWithToken },
} as const

export const userListSchema = {
  tags: ['admin'],
  summary: 'List users',
  response: {
    200: {
      description: 'All users by name',
      ...answered({ users: { type: 'array', items: user } }),
    },
  },
} as const

export const userSchema = {
  tags: ['admin'],
  summary: 'Read a user',
  params: params('username'),
  response: { 200: user },
} as const

export const changesSchema = {
  tags: ['admin'],
  summary: 'Change quota, key quota, organization role, plan or limits of a user',
  params: params('username'),
  body: {
    type: 'object',
    additionalProperties: false,
    properties: {
      quota_in_bytes: quota,
      api_key_quota: { type: ['integer', 'null'], minimum: 0 },
      org_admin: { type: 'boolean' },
      limits: limitChanges,
      plan: { type: ['string', 'null'], description: 'null: none' },
      ...knownExtras,
    },
    examples: [{ plan: 'small', limits: { query_timeout_ms: 60000, rates: { sql: '100/60' } } }],
  },
  response: { 200: user },
} as const

export const userRemovalSchema = {
  tags: ['admin'],
  summary: 'Delete a user and all it has',
  params: params('username'),
  response: { 200: deleted('username') },
} as const

export const suspensionSchema = {
  tags: ['admin'],
  summary: 'Suspend a user',
  description:
    'Every request of the user is answered 403 `account-suspended`, running requests and sessions end, jobs wait, and schedules make no jobs. The data stays. A second suspension changes the reason.',
  params: params('username'),
  body: {
    type: 'object',
    required: ['reason'],
    additionalProperties: false,
    properties: {
      reason: { ...text, maxLength: maxReasonLength, description: 'Callers with a key of the user read it' },
      ...knownExtras,
    },
    examples: [{ reason: 'The invoice of May is open. Write to billing@example.org' }],
  },
  response: { 200: user },
} as const

export const resumptionSchema = {
  tags: ['admin'],
  summary: 'End the suspension of a user',
  description: 'The user is served again, and its jobs go on.',
  params: params('username'),
  response: { 200: user },
} as const

export const userKeyListSchema = {
  tags: ['admin'],
  summary: 'List the keys of a user, without their tokens',
  params: params('username'),
  querystring: {
    type: 'object',
    properties: {
      ...keyListing,
    },
  },
  response: {
    200: {
      description: 'One page of the keys',
      ...answered({ keys: { type: 'array', items: userKey }, total: { type: 'integer' } }),
    },
  },
} as const

const masterKey = {
  description: 'The master token',
  ...answered({ username, api_key: { type: 'string', description: 'The master token' } }),
} as const

export const masterKeySchema = {
  tags: ['admin'],
  summary: 'Show the master token of a user',
  description: 'Every look is recorded: `cartage audit --action key.shown`.',
  params: params('username'),
  response: { 200: masterKey },
} as const

export const newMasterKeySchema = {
  tags: ['admin'],
  summary: 'Give a user a new master token',
  description:
    'The old token fails on the next request, and its running requests are ended. With `all_keys` every other key gets a new token too, which the master key can read.',
  params: params('username'),
  body: {
    type: 'object',
    additionalProperties: false,
    properties: { all_keys: { type: 'boolean', default: false }, ...knownExtras },
  },
  response: {
    200: {
      ...masterKey,
      required: ['username', 'api_key'],
      properties: {
        ...masterKey.properties,
        keys: { type: 'array', items: text, description: 'The names of all keys that have a new token' },
      },
    },
  },
} as const

export const newOrganizationSchema = {
  tags: ['admin'],
  summary: 'Create an organization and its owner',
  body: {
    type: 'object',
    required: ['name', 'owner'],
    additionalProperties: false,
    properties: { name: username, owner, ...knownExtras },
    examples: [{ name: 'acme', owner: { username: 'alice' } }],
  },
  response: {
    201: {
      ...organization,
      title: 'OrganizationWithToken',
      properties: { ...organization.properties, owner: userWithToken },
    },
  },
} as const

export const organizationListSchema = {
  tags: ['admin'],
  summary: 'List organizations',
  response: {
    200: {
      description: 'All organizations by name',
      ...answered({ organizations: { type: 'array', items: organization } }),
    },
  },
} as const

export const organizationSchema = {
  tags: ['admin'],
  summary: 'Read an organization',
  params: params('organization'),
  response: { 200: organization },
} as const

export const organizationRemovalSchema = {
  tags: ['admin'],
  summary: 'Delete an organization that has only its owner as a member',
  params: params('organization'),
  response: { 200: deleted('name') },
} as const
