import { maxHostUrl } from '../../contract/limits.ts'
import { answered, knownExtras } from '../middleware/schemas.ts'

/** The OpenAPI description of replicas. */

const tags = ['admin']
const text = { type: 'string' } as const
const params = { type: 'object', properties: { host: text } } as const

const replica = {
  title: 'Replica',
  description: 'The replica',
  ...answered({
    name: text,
    host: { ...text, description: 'The host that it follows' },
    address: { ...text, description: 'Without role and password' },
  }),
  examples: [{ name: 'east', host: 'local', address: '10.0.0.6:5432' }],
} as const

export const replicaListSchema = {
  tags,
  summary: 'List the replicas of a host',
  description: 'Does not query them.',
  params,
  response: {
    200: { description: 'By name', ...answered({ replicas: { type: 'array', items: replica } }) },
  },
} as const

export const newReplicaSchema = {
  tags,
  summary: 'Let a standby of a host answer reads',
  description:
    'Requests with `X-Read-From: replica`, and keys with `read_from` `replica`, are answered by this server. It must be a standby of the host.',
  params,
  body: {
    type: 'object',
    required: ['name', 'url'],
    additionalProperties: false,
    properties: {
      name: { ...text, description: '1 to 63 lower-case letters, digits or hyphens' },
      url: {
        ...text,
        maxLength: maxHostUrl,
        description: 'Its address with a superuser: it is stored encrypted',
      },
      ...knownExtras,
    },
    examples: [{ name: 'east', url: 'postgres://postgres:secret@10.0.0.6:5432/postgres' }],
  },
  response: { 201: replica },
} as const

export const replicaRemovalSchema = {
  tags,
  summary: 'Send no more reads to a replica',
  params: { type: 'object', properties: { host: text, replica: text } },
  response: { 200: { description: 'It is gone', ...answered({ name: text, deleted: { const: true } }) } },
} as const
