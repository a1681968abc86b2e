import { auditActions } from '../../contract/admin-names.ts'
import { checkStatuses } from '../../contract/health-names.ts'
import { defaultActivityRecords, defaultAuditRecords, maxRecords } from '../../contract/limits.ts'
import { answered } from '../middleware/schemas.ts'

/** The OpenAPI description of hosts, doctor, audit and activity. */

const text = { type: 'string' } as const
const time = { type: 'string', format: 'date-time' } as const
const whole = { type: 'integer', minimum: 0 } as const
const limit = (byDefault: number) =>
  ({ type: 'integer', minimum: 1, maximum: maxRecords, default: byDefault }) as const

const listOf = (name: string, description: string, items: object) => ({
  200: { description, ...answered({ [name]: { type: 'array', items } }) },
})

export const hostListSchema = {
  tags: ['admin'],
  summary: 'List hosts',
  description: 'Does not query the hosts: see `/health/ready` for the ones that answer.',
  response: listOf('hosts', 'All hosts, the first one first', {
    title: 'Host',
    ...answered({
      name: text,
      databases: { ...whole, description: 'Of tenants' },
      address: { ...text, description: 'Without role and password' },
    }),
    examples: [{ name: 'local', databases: 12, address: '10.0.0.5:5432' }],
  }),
} as const

export const doctorSchema = {
  tags: ['admin'],
  summary: 'Check the installation and say what to do',
  description: 'Changes nothing. A host that does not answer within 5 s is a check that fails.',
  response: listOf('checks', 'Every check that was made', {
    title: 'Check',
    ...answered({
      name: text,
      status: { enum: checkStatuses },
      advice: { ...text, description: 'What was found, and what to do about it' },
    }),
    examples: [{ name: 'host local: PostGIS', status: 'ok', advice: 'PostGIS 3.5.2' }],
  }),
} as const

export const auditSchema = {
  tags: ['admin'],
  summary: 'Read the audit record, the newest first',
  description: 'Changes of accounts, keys and hosts, and refused authentications. Never a token.',
  querystring: {
    type: 'object',
    properties: {
      account: { ...text, description: 'Only what happened to this user or organization' },
      action: { ...text, enum: auditActions },
      limit: limit(defaultAuditRecords),
      before: { type: 'integer', minimum: 1, description: 'Only records older than the one with this id' },
    },
  },
  response: listOf('records', 'The newest matching records', {
    title: 'AuditRecord',
    ...answered({
      id: whole,
      at: time,
      actor: { ...text, description: '`operator`, a user, or the address of a refused request' },
      action: { ...text, enum: auditActions },
      account: { type: ['string', 'null'] },
      subject: { type: ['string', 'null'], description: 'Within the account, such as the name of a key' },
      details: { type: 'object' },
    }),
  }),
} as const

export const activitySchema = {
  tags: ['admin'],
  summary: 'Which jobs run now, and who waits',
  description:
    'Of all processes, without SQL: running jobs, longest first, and users with waiting jobs, in the order of their turns.',
  querystring: {
    type: 'object',
    properties: { limit: { ...limit(defaultActivityRecords), description: 'Maximum number of each' } },
  },
  response: {
    200: {
      title: 'Activity',
      description: 'The current state',
      ...answered({
        running: {
          type: 'array',
          items: {
            ...answered({
              job_id: text,
              username: text,
              item: { ...whole, description: 'The item that was begun last, from 1' },
              items: whole,
              started_at: time,
              host: text,
              worker: {
                type: ['string', 'null'],
                description: 'null: its worker is gone, another takes over',
              },
            }),
          },
        },
        waiting: {
          type: 'array',
          items: { ...answered({ username: text, jobs: whole, oldest_at: time }) },
        },
        left_out: {
          ...answered({ running: whole, waiting: whole }),
          description: 'How many running jobs and waiting users are beyond the limit',
        },
      }),
    },
  },
} as const
