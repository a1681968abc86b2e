import { usageDays, usageKinds, usagePeriods } from '../../contract/usage-names.ts'
import { accountParams, answered, text } from '../middleware/schemas.ts'

/** Described, not enforced: the reader refuses in the words of this API. */

const time = { type: 'string', format: 'date-time' } as const
const whole = { type: 'integer', minimum: 0 } as const

const period = {
  title: 'UsagePeriod',
  ...answered({
    from: { ...time, description: 'Its begin, in UTC' },
    requests: {
      type: 'object',
      description: 'By kind; one that is not named has none',
      properties: Object.fromEntries(usageKinds.map((kind) => [kind, whole])),
    },
    jobs: {
      ...whole,
      description: 'Jobs and imports that are done or have failed; not those that were cancelled',
    },
    tiles: { ...whole, description: 'Requests for tiles, also those answered from memory' },
    postgres_seconds: { type: 'number', minimum: 0, description: 'In which statements had a connection' },
    rows_out: { ...whole, description: 'Rows that PostgreSQL sent for callers' },
    rows_in: { ...whole, description: 'Rows that were inserted, changed or deleted' },
    bytes_out: { ...whole, description: 'Bytes that PostgreSQL sent for callers, before compression' },
    bytes_in: { ...whole, description: 'Bytes that were sent to PostgreSQL for callers' },
    disk_bytes: {
      type: ['integer', 'null'],
      description: 'The largest size of the data that was measured; null if it was not measured',
    },
  }),
} as const

const usage = {
  title: 'Usage',
  description: 'The periods in which something was used, the oldest first',
  ...answered({
    username: { type: 'string' },
    since: time,
    until: time,
    by: { type: 'string', enum: usagePeriods },
    periods: { type: 'array', items: period },
  }),
} as const

const description = `Kept by the hour for ${usageDays} days. A count is stored within a minute; a killed process may lose its last one.`

const querystring = {
  type: 'object',
  properties: {
    since: text('A day or a time; 30 days before `until` unless told. Moved back to its full hour'),
    until: text(
      'A day or a time, rounded down to its full hour, which is not included; by default the end of this hour',
    ),
    by: { type: 'string', enum: usagePeriods, default: 'day', description: 'In UTC' },
    format: { type: 'string', enum: ['json', 'csv'], default: 'json', description: 'Or `Accept: text/csv`' },
  },
} as const

const response = {
  200: {
    description: 'What was used',
    content: { 'application/json': { schema: usage }, 'text/csv': { schema: { type: 'string' } } },
  },
} as const

export const userUsageSchema = {
  tags: ['admin'],
  summary: 'What a user has used',
  description,
  querystring,
  response,
} as const

export const usageSchema = {
  tags: ['accounts'],
  summary: 'What the account has used',
  description: `For the master key. ${description}`,
  params: accountParams,
  querystring,
  response,
} as const
