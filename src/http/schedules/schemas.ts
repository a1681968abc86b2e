import { jobStatuses } from '../../contract/job-status.ts'
import { catchUps, overlaps } from '../../schedules/schedule.ts'
import { fullJob, scheduledMembers } from '../jobs/schemas.ts'
import { accountName, accountParams } from '../middleware/schemas.ts'
import { notifySchema, shownNotifySchema } from '../webhooks/schemas.ts'
import { mostRuns } from './request.ts'

const time = { type: 'string', format: 'date-time' } as const

const rule = {
  cron: { type: 'string', description: 'Five fields, or a word such as @daily', examples: ['30 2 * * *'] },
  timezone: { type: 'string', default: 'UTC', description: 'A name of the IANA list, such as Europe/Paris' },
} as const

const settings = {
  enabled: { type: 'boolean', default: true },
  overlap: {
    enum: overlaps,
    default: 'skip',
    description: 'At a due time while a job of the schedule has not ended: skip it, or queue another job',
  },
  catch_up: {
    enum: catchUps,
    default: 'none',
    description:
      'What happens to due times at which no worker ran: none makes no job, last makes a job for the last of them',
  },
} as const

const scheduleNotify = {
  ...notifySchema,
  description:
    'Addresses that get a message when a job ends, or the schedule is disabled. An address keeps its secret unless you give another one',
} as const

const name = { type: 'string', description: 'Letters, digits, underscores, dots and hyphens' } as const

const body = {
  type: 'object',
  required: ['cron', 'query'],
  properties: { name, ...rule, ...scheduledMembers, notify: scheduleNotify, ...settings },
  examples: [{ name: 'nightly', cron: '30 2 * * *', query: 'refresh materialized view counts' }],
} as const

/** Fallbacks stand inside the query. */
const { onsuccess: _onsuccess, onerror: _onerror, ...shownMembers } = scheduledMembers

const document = {
  title: 'Schedule',
  type: 'object',
  required: [
    ...['name', 'cron', 'timezone', 'query', 'enabled', 'overlap', 'catch_up', 'next_run_at'],
    ...['last_job', 'last_status', 'runs_ok', 'runs_failed', 'created_at', 'updated_at'],
  ],
  properties: {
    name,
    ...rule,
    ...shownMembers,
    notify: shownNotifySchema,
    ...settings,
    next_run_at: { type: ['string', 'null'], format: 'date-time', description: 'null: it is disabled' },
    disabled_reason: { type: 'string' },
    last_job: { type: ['string', 'null'], format: 'uuid' },
    last_status: { enum: [...jobStatuses, null] },
    runs_ok: { type: 'integer' },
    runs_failed: { type: 'integer' },
    created_at: time,
    updated_at: time,
  },
} as const

const tags = ['schedules']
const params = { type: 'object', properties: { ...accountName, schedule: { type: 'string' } } } as const

export const listSchedulesSchema = {
  tags,
  summary: 'List schedules',
  params: accountParams,
  response: {
    200: {
      title: 'ScheduleList',
      type: 'object',
      required: ['schedules', 'limit'],
      properties: {
        schedules: { type: 'array', items: document },
        limit: { type: 'integer', description: 'How many the account may have' },
      },
      description: 'All of the account',
    },
  },
}

export const createScheduleSchema = {
  tags,
  summary: 'Make a schedule',
  description:
    'A job at each due time of a cron expression. Each due time makes one job or is recorded as skipped.',
  params: accountParams,
  body: { ...body, required: ['name', ...body.required] },
  response: { 201: { ...document, description: 'The schedule' } },
}

export const readScheduleSchema = {
  tags,
  summary: 'Read a schedule',
  params,
  response: { 200: { ...document, description: 'The schedule' } },
}

export const putScheduleSchema = {
  tags,
  summary: 'Make or replace a schedule',
  params,
  body,
  response: {
    200: { ...document, description: 'The schedule' },
    201: { ...document, description: 'The schedule, a new one' },
  },
}

export const deleteScheduleSchema = {
  tags,
  summary: 'Delete a schedule',
  description: 'Its jobs stay; those that have not ended go on.',
  params,
  response: { 204: { description: 'It is gone', type: 'null' } },
}

export const runScheduleSchema = {
  tags,
  summary: 'Run a schedule now',
  params,
  response: { 201: { ...fullJob, description: 'The job' } },
}

export const listRunsSchema = {
  tags,
  summary: 'List the runs of a schedule',
  description: 'Past due times, newest first, each with its job or with the reason for having none.',
  params,
  querystring: {
    type: 'object',
    properties: {
      per_page: { type: 'integer', minimum: 1, maximum: mostRuns, default: 20 },
      before: { ...time, description: 'Only due times before this one' },
    },
  },
  response: {
    200: {
      title: 'ScheduleRuns',
      type: 'object',
      required: ['runs'],
      properties: {
        runs: {
          type: 'array',
          items: {
            type: 'object',
            required: ['due_at'],
            properties: {
              due_at: time,
              job_id: { type: 'string', format: 'uuid' },
              status: { enum: jobStatuses },
              manual: { type: 'boolean', description: 'Made on request' },
              skipped: { enum: ['overlap', 'missed', 'queue-full'] },
            },
          },
        },
      },
      description: 'One page',
    },
  },
}
