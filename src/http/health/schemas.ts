import { hostVerdicts, readinessStatuses, replicationRoles } from '../../contract/health-names.ts'
import { answered } from '../middleware/schemas.ts'

export const liveSchema = {
  tags: ['operations'],
  summary: 'Is the process alive',
  response: {
    200: { description: 'It is', ...answered({ status: { const: 'ok' } }) },
  },
} as const

const verdictSchema = {
  enum: hostVerdicts,
  description: 'standby: it follows another server and takes no writes, so it is not used',
} as const
const replicationSchema = answered(
  {
    role: { enum: replicationRoles },
    standbys: { type: 'integer', description: 'Standbys that follow it' },
    synchronous: { type: 'integer', description: 'Of those, the ones that commits wait for' },
    lag_bytes: { type: ['number', 'null'], description: 'How far the last of them is behind' },
    lag_ms: { type: ['number', 'null'], description: 'The same in time' },
  },
  ['standbys', 'synchronous', 'lag_bytes', 'lag_ms'],
)
const readiness = {
  ...answered({
    status: { enum: readinessStatuses },
    control: verdictSchema,
    hosts: { type: 'object', additionalProperties: verdictSchema, description: 'Tenant hosts by name' },
    imports: { type: 'string', description: 'What reads files to import, or what is missing for it' },
    replication: {
      type: 'object',
      additionalProperties: replicationSchema,
      description: 'The role of each host that answers, and the standbys of a primary',
    },
  }),
  examples: [
    {
      status: 'ok',
      control: 'ok',
      hosts: { local: 'ok' },
      imports: 'GDAL 3.6.2, in bubblewrap',
      replication: {
        local: { role: 'primary', standbys: 1, synchronous: 0, lag_bytes: 0, lag_ms: null },
      },
    },
  ],
} as const

export const readySchema = {
  tags: ['operations'],
  summary: 'Can it serve: control database and tenant hosts',
  description:
    'A tenant host that is down does not make the process unready, because it serves the tenants of other hosts.',
  response: {
    200: { ...readiness, description: 'Send requests' },
    503: {
      ...readiness,
      description: 'Starting, stopping, or without its control database: send no requests',
    },
  },
} as const

export const metricsSchema = {
  tags: ['operations'],
  summary: 'Figures of this process in the Prometheus text format',
  response: {
    200: {
      description: 'Requests, durations, jobs, copies, connections, memory, lag of the event loop',
      content: { 'text/plain': { schema: { type: 'string' } } },
    },
  },
} as const
