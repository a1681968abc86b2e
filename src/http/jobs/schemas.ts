import { jobStatuses, stepStatuses } from '../../contract/job-status.ts'
import {
  defaultBackoffSeconds,
  defaultPerPage,
  jobLabelRule,
  maxBackoffSeconds,
  maxJobAttempts,
  maxJobCharacters,
  maxJobItems,
  maxJobLabels,
  maxJobNameLength,
  maxJobsPerPage,
  maxLongJobCharacters,
  maxSearchLength,
} from '../../contract/limits.ts'
import { accountName, idempotencyHeaders, waitQuery } from '../middleware/schemas.ts'
import { notifySchema } from '../webhooks/schemas.ts'

const sql = { type: 'string', minLength: 1 } as const

const fallbacks = {
  onsuccess: { ...sql, description: 'SQL to run after a success' },
  onerror: {
    ...sql,
    description: 'SQL to run after a failure; `<%= error_message %>` and `<%= job_id %>` are filled in',
  },
} as const

const item = {
  type: 'object',
  required: ['query'],
  additionalProperties: false,
  properties: {
    query: sql,
    ...fallbacks,
    timeout: { type: 'integer', minimum: 1, description: 'Longest time for this statement, in milliseconds' },
  },
} as const

const items = { type: 'array', minItems: 1, maxItems: maxJobItems, items: { anyOf: [sql, item] } } as const

const query = {
  description: 'One statement; or a chain, which runs in order; or a chain with fallbacks',
  anyOf: [
    sql,
    items,
    {
      type: 'object',
      required: ['query'],
      additionalProperties: false,
      properties: { query: items, ...fallbacks },
    },
  ],
} as const

const body = {
  type: 'object',
  required: ['query'],
  properties: { query, ...fallbacks },
  examples: [
    { query: 'UPDATE airports SET type = lower(type)' },
    { query: ['CREATE TABLE t AS SELECT 1 AS a', 'DROP TABLE u'] },
  ],
} as const

const status = { enum: jobStatuses } as const
const stepStatus = { enum: stepStatuses } as const
const time = { type: 'string', format: 'date-time' } as const

/** The values of bind parameters. */
const values = {
  type: 'array',
  items: {},
  description: 'Values of `$1`, `$2`, ..., as on the SQL endpoint: bind parameters, never text',
} as const

const rows = { type: 'integer', description: "Of PostgreSQL's command tag" } as const

const itemDocument = {
  title: 'JobItem',
  type: 'object',
  required: ['query', 'status'],
  properties: {
    query: sql,
    ...fallbacks,
    timeout: { type: 'integer' },
    status: stepStatus,
    fallback_status: stepStatus,
    started_at: time,
    ended_at: time,
    failed_reason: { type: 'string' },
    failed_sqlstate: { type: 'string' },
    fallback_failed_reason: { type: 'string' },
  },
} as const

const chainDocument = { type: 'array', items: itemDocument } as const

const job = {
  title: 'Job',
  type: 'object',
  required: ['job_id', 'user', 'status', 'query', 'created_at', 'updated_at'],
  properties: {
    job_id: { type: 'string', format: 'uuid' },
    user: { type: 'string' },
    status,
    query: {
      anyOf: [
        sql,
        chainDocument,
        { type: 'object', required: ['query'], properties: { query: chainDocument, ...fallbacks } },
      ],
    },
    created_at: time,
    updated_at: time,
    failed_reason: { type: 'string', description: 'What PostgreSQL said' },
    failed_sqlstate: { type: 'string', description: 'Its SQLSTATE, where PostgreSQL gave one' },
    fallback_status: stepStatus,
    fallback_failed_reason: { type: 'string' },
  },
  examples: [
    {
      job_id: 'de305d54-75b4-431b-adb2-eb6b9e546014',
      user: 'alice',
      status: 'pending',
      query: 'UPDATE airports SET type = lower(type)',
      created_at: '2026-01-31T10:00:00.123Z',
      updated_at: '2026-01-31T10:00:00.123Z',
    },
  ],
} as const

/** At the addresses of version 4. */
const tagsOfJob = {
  name: { type: 'string', maxLength: maxJobNameLength },
  labels: { type: 'array', maxItems: maxJobLabels, items: { type: 'string', description: jobLabelRule } },
  timeout: {
    type: 'integer',
    minimum: 1,
    description: 'Limit for each statement without one, in milliseconds',
  },
  params: { ...values, description: `${values.description}. Beside a query that is a string` },
  not_before: { ...time, description: 'The job waits until then' },
  retry: {
    type: 'object',
    required: ['attempts'],
    additionalProperties: false,
    description:
      'Tries an item again that failed with SQLSTATE class 40, 53, 55 or with 57P03, if it ran in a transaction',
    properties: {
      attempts: { type: 'integer', minimum: 1, maximum: maxJobAttempts, description: 'The first included' },
      backoff_s: {
        type: 'number',
        minimum: 0,
        maximum: maxBackoffSeconds,
        default: defaultBackoffSeconds,
        description: 'Seconds before the second attempt; doubled for each further attempt',
      },
    },
  },
} as const

const longItem = { ...item, properties: { ...item.properties, params: values } } as const
const longItems = { ...items, items: { anyOf: [sql, longItem] } } as const
const longQuery = {
  ...query,
  anyOf: [sql, longItems, { ...query.anyOf[2], properties: { query: longItems, ...fallbacks } }],
} as const

const fullItemDocument = {
  ...itemDocument,
  title: 'FullJobItem',
  properties: { ...itemDocument.properties, params: values, rows },
} as const
const fullChain = { type: 'array', items: fullItemDocument } as const

const progress = {
  type: 'object',
  description: 'While the job runs. What PostgreSQL does not report is absent',
  required: ['item', 'items'],
  properties: {
    item: { type: 'integer', description: 'The statement that runs, from 1' },
    items: { type: 'integer' },
    phase: { type: 'string', description: 'Of CREATE INDEX, COPY, VACUUM, ANALYZE and CLUSTER' },
    percent: { type: 'number', description: 'Of the phase' },
    waits_for: {
      type: 'object',
      required: ['lock', 'sessions'],
      properties: {
        lock: { type: 'string', description: 'Its kind, such as relation' },
        sessions: {
          type: 'array',
          description: 'Sessions of the account that block it; empty if sessions of others do',
          items: {
            type: 'object',
            required: ['pid', 'state', 'query', 'since'],
            properties: {
              pid: { type: 'integer' },
              state: { type: ['string', 'null'] },
              query: { type: 'string' },
              since: time,
            },
          },
        },
      },
    },
    eta_ms: {
      type: 'integer',
      description: 'The median of the last five runs of the same statement, less the time it has run',
    },
  },
} as const

export const fullJob = {
  ...job,
  title: 'FullJob',
  properties: {
    ...job.properties,
    ...tagsOfJob,
    query: {
      anyOf: [
        sql,
        fullChain,
        { type: 'object', required: ['query'], properties: { query: fullChain, ...fallbacks } },
      ],
    },
    schedule: { type: 'string', description: 'The schedule that made it' },
    rows,
    attempts: { type: 'integer', description: 'Since it was first begun' },
    started_at: time,
    ended_at: time,
    duration_ms: { type: 'integer' },
    position: {
      type: 'object',
      description: 'While the job is pending',
      required: ['ahead', 'is_host_busy'],
      properties: {
        ahead: { type: 'integer', description: 'Unfinished jobs of the user that were queued before' },
        is_host_busy: { type: 'boolean', description: 'It is its turn, but every slot of the host is taken' },
      },
    },
    progress,
  },
} as const

/** What a schedule says of its jobs. */
export const scheduledMembers = {
  query: longQuery,
  params: tagsOfJob.params,
  ...fallbacks,
  labels: tagsOfJob.labels,
  timeout: tagsOfJob.timeout,
  retry: tagsOfJob.retry,
} as const

const texts = { type: 'array', items: { type: 'string' } } as const

const tags = ['jobs']
const consumes = ['application/json', 'application/x-www-form-urlencoded']
const params = {
  type: 'object',
  properties: {
    ...accountName,
    jobId: { type: 'string', format: 'uuid' },
  },
} as const
const accountParams = { type: 'object', properties: { name: params.properties.name } } as const

export const createJobSchema = {
  tags,
  consumes,
  summary: 'Queue a job',
  description: `Queues one statement or a chain of up to ${maxJobCharacters} characters as JSON. The list of jobs is at /api/v4/jobs.`,
  params: accountParams,
  headers: idempotencyHeaders(
    'The same request with the same key answers the same job, for as long as the job is kept: CARTAGE_JOB_RETENTION_DAYS (30) after its end',
  ),
  body,
  response: {
    201: {
      ...job,
      description: 'The job, pending',
      headers: {
        Location: { type: 'string' },
        'Idempotency-Replayed': { type: 'string', description: 'true: the job of an earlier request' },
      },
    },
    422: { description: 'The Idempotency-Key was used with another request' },
  },
}

export const createLongJobSchema = {
  ...createJobSchema,
  summary: 'Queue a job, also a long one',
  description: `The same as at the classic address, up to ${maxLongJobCharacters} characters as JSON, with a name, labels, parameters, times and retries. A job can be read, changed and cancelled at either address.`,
  body: {
    ...body,
    properties: { ...body.properties, query: longQuery, ...tagsOfJob, notify: notifySchema },
  },
  response: {
    ...createJobSchema.response,
    201: { ...createJobSchema.response[201], ...fullJob, description: 'The job, pending' },
  },
}

export const listJobsSchema = {
  tags,
  summary: 'List jobs',
  description: `All jobs of the account that are kept, newest first. A page may have fewer than per_page jobs, or none: go on while there is a next.`,
  params: accountParams,
  querystring: {
    type: 'object',
    properties: {
      status,
      label: { type: 'string' },
      schedule: { type: 'string', description: 'The name of the schedule that made them' },
      since: { ...time, description: 'Created then or later' },
      until: { ...time, description: 'Created before' },
      text: { type: 'string', maxLength: maxSearchLength, description: 'Part of the SQL, in any case' },
      per_page: { type: 'integer', minimum: 1, maximum: maxJobsPerPage, default: defaultPerPage },
      after: { type: 'string', description: 'The next of the page before' },
    },
  },
  response: {
    200: {
      title: 'JobList',
      type: 'object',
      required: ['jobs', 'next'],
      properties: {
        jobs: { type: 'array', items: fullJob },
        next: { type: ['string', 'null'], description: 'The value of after for the next page' },
      },
      description: 'One page',
    },
  },
}

export const readJobSchema = {
  tags,
  summary: 'Read a job',
  params,
  querystring: waitQuery('the job'),
  response: { 200: { ...job, description: 'The job' } },
}

export const updateJobSchema = {
  tags,
  consumes,
  summary: 'Change the query of a waiting job',
  params,
  body,
  response: { 200: { ...job, description: 'The job, pending' } },
}

export const cancelJobSchema = {
  tags,
  summary: 'Cancel a job',
  description: 'Answers when the running statement has been stopped. What had committed before stays.',
  params,
  response: {
    200: { ...job, description: 'The job, cancelled' },
    400: {
      description: 'The job is neither pending nor running',
      type: 'object',
      properties: { errors: texts, error: texts, code: { type: 'string' } },
      examples: [
        {
          errors: ['The job status is done, cancel is not allowed'],
          error: ['Cannot set status from done to cancelled'],
          code: 'cancel-refused',
        },
      ],
    },
  },
}

export const readFullJobSchema = {
  ...readJobSchema,
  response: { 200: { ...fullJob, description: 'The job' } },
}

export const followJobSchema = {
  tags,
  summary: 'Follow a job',
  description:
    'Server-sent events: the document at each change, a comment every 15 seconds, and at the end the final document. A reconnecting client sends the id of its last event.',
  params,
  headers: {
    type: 'object',
    properties: {
      'last-event-id': { type: 'string', description: 'The id of the last event: go on from there' },
    },
  },
  produces: ['text/event-stream'],
  response: {
    200: {
      description: 'The events',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    204: { description: 'The last event was the end of the job', type: 'null' },
  },
}

export const updateFullJobSchema = {
  ...updateJobSchema,
  body: { ...body, properties: { ...body.properties, query: longQuery, params: tagsOfJob.params } },
  response: { 200: { ...fullJob, description: 'The job, pending' } },
}

export const cancelFullJobSchema = {
  ...cancelJobSchema,
  response: { ...cancelJobSchema.response, 200: { ...fullJob, description: 'The job, cancelled' } },
}
