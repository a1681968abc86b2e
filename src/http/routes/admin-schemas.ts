/** The schemas that validate the admin API, and that its OpenAPI description is made of. */

const username = {
  type: 'string',
  description: '1 to 63 lower-case letters, digits or hyphens',
  examples: ['alice'],
} as const
const quota = {
  type: 'integer',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: '0 is unlimited',
} as const
const masterToken = { type: 'string', description: 'Master token to use instead of a generated one' } as const

const owner = {
  type: 'object',
  required: ['username'],
  additionalProperties: false,
  properties: { username, quota_in_bytes: quota, api_key: masterToken },
} as const

export const newUserSchema = {
  tags: ['admin'],
  summary: 'Create a user',
  description: 'Creates database or schema, roles and the two first keys; answers 201 with the master token.',
  body: {
    ...owner,
    properties: {
      ...owner.properties,
      organization: { type: 'string', description: 'Name of an existing organization' },
      org_admin: { type: 'boolean' },
    },
  },
} as const

export const userSchema = { tags: ['admin'], summary: 'Read a user' } as const

export const changesSchema = {
  tags: ['admin'],
  summary: 'Change quota, key quota, organization role or limits of a user',
  body: {
    type: 'object',
    additionalProperties: false,
    properties: {
      quota_in_bytes: quota,
      api_key_quota: { type: ['integer', 'null'], minimum: 0 },
      org_admin: { type: 'boolean' },
      limits: {
        type: 'object',
        description: 'Limits of this user in place of the configured ones; replaces those set before',
        examples: [{ rate: { sql: '100/60', jobs: '10/60+2', copyto: 'off' } }],
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
    properties: { name: username, owner },
  },
} as const

export const organizationSchema = { tags: ['admin'], summary: 'Read an organization' } as const
