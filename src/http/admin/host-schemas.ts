import { maxHostUrl } from '../../contract/limits.ts'
import { answered, knownExtras } from '../middleware/schemas.ts'

/** The OpenAPI description of hosts. */

const tags = ['admin']
const text = { type: 'string' } as const
const params = { type: 'object', properties: { host: text } } as const
const url = {
  ...text,
  maxLength: maxHostUrl,
  description:
    'Its address with a superuser. It is stored encrypted, and never answered. It must name no files (`sslrootcert`, `sslcert`, `sslkey`)',
} as const

const host = {
  title: 'Host',
  description: 'The host',
  ...answered({
    name: text,
    databases: { type: 'integer', minimum: 0, description: 'Of tenants' },
    address: {
      ...text,
      description:
        'Without role and password; `unknown` if the service cannot read it, as a certificate file is missing',
    },
    accepts_users: { type: 'boolean', description: 'false: no user is made there, and none moves there' },
    control_only: {
      type: 'boolean',
      description:
        'The host has only the control database: its login is not a superuser, so it never takes users',
    },
  }),
  examples: [
    { name: 'local', databases: 12, address: '10.0.0.5:5432', accepts_users: true, control_only: false },
  ],
} as const

export const hostListSchema = {
  tags,
  summary: 'List hosts',
  description: 'Does not query the hosts: see `/health/ready` for the ones that answer.',
  response: {
    200: {
      description: 'All hosts, the first one first',
      ...answered({ hosts: { type: 'array', items: host } }),
    },
  },
} as const

export const newHostSchema = {
  tags,
  summary: 'Add a host',
  description:
    'The service connects to the address, checks the cluster and prepares it, and answers when every process knows it: new users are made there from then on. It must be the primary of a PostgreSQL cluster with PostGIS that is no host yet, and the role a superuser. One host is added, changed or removed at a time.',
  body: {
    type: 'object',
    required: ['name', 'url'],
    additionalProperties: false,
    properties: {
      name: { ...text, description: '1 to 63 lower-case letters, digits or hyphens' },
      url,
      ...knownExtras,
    },
    examples: [{ name: 'second', url: 'postgres://postgres:secret@10.0.0.7:5432/postgres' }],
  },
  response: { 201: host },
} as const

export const hostChangeSchema = {
  tags,
  summary: 'Change the address of a host, or whether it takes new users',
  description:
    'A new `url` is checked and prepared like that of a new host, and must have the databases of the host. Where `accepts_users` is false, no user or organization is made, and none moves there.',
  params,
  body: {
    type: 'object',
    additionalProperties: false,
    properties: { url, accepts_users: { type: 'boolean' }, ...knownExtras },
    examples: [{ accepts_users: false }],
  },
  response: { 200: host },
} as const

export const hostRemovalSchema = {
  tags,
  summary: 'Remove a host that has no users',
  description:
    "Drops the service's own databases there, if it answers. With `lost=true` it also forgets what moves have left there: for a host that never answers again.",
  params,
  querystring: {
    type: 'object',
    properties: { lost: { type: 'boolean', default: false } },
  },
  response: { 200: { description: 'It is gone', ...answered({ name: text, deleted: { const: true } }) } },
} as const
