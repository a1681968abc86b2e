import { answered } from '../frame/schemas.ts'

export const liveSchema = {
  tags: ['operations'],
  summary: 'Is the process alive',
  response: {
    200: { description: 'It is', ...answered({ status: { const: 'ok' } }) },
  },
} as const

const verdictSchema = { enum: ['ok', 'unreachable'] } as const
const readiness = {
  ...answered({
    status: { enum: ['ok', 'unavailable'] },
    control: verdictSchema,
    hosts: { type: 'object', additionalProperties: verdictSchema, description: 'Tenant hosts by name' },
  }),
  examples: [{ status: 'ok', control: 'ok', hosts: { local: 'ok' } }],
} as const

export const readySchema = {
  tags: ['operations'],
  summary: 'Can it serve: control database and tenant hosts',
  description: 'A tenant host that is down makes the process no less ready for the tenants of the others.',
  response: {
    200: { ...readiness, description: 'Send requests' },
    503: { ...readiness, description: 'Starting, stopping, or without its control database: send none' },
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
