import {
  deliveryStatuses,
  maxDeliveriesPerPage,
  maxNotify,
  maxWebhookUrl,
  notifyEvents,
  webhookEvents,
} from '../../contract/webhooks.ts'
import { accountName, accountParams, answered, knownExtras, text } from '../middleware/schemas.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const tags = ['jobs']

const uuid = { type: 'string', format: 'uuid' } as const
const webhookParams = { type: 'object', properties: { ...accountName, webhookId: uuid } } as const
const deliveryParams = { type: 'object', properties: { ...accountName, deliveryId: uuid } } as const

const url = {
  type: 'string',
  maxLength: maxWebhookUrl,
  description: 'http or https; the operator says which addresses may be reached',
} as const
const includeSql = {
  type: 'boolean',
  default: false,
  description: 'Whether messages have the SQL of the job',
} as const
const secret = text(
  '`whsec_` and base64 of 24 to 64 bytes, with which messages are signed as Standard Webhooks has it',
)

/** Beside the query of a job. */
export const notifySchema = {
  type: 'array',
  maxItems: maxNotify,
  description: 'Addresses that get a message when it ends',
  items: {
    type: 'object',
    required: ['url'],
    properties: {
      url,
      on: { type: 'array', items: { type: 'string', enum: notifyEvents }, description: 'All unless told' },
      secret,
      include_sql: includeSql,
    },
  },
} as const

const { secret: _secret, ...shownNotice } = notifySchema.items.properties

/** In the document of a schedule. */
export const shownNotifySchema = {
  type: 'array',
  description: 'Addresses that get a message; absent: none',
  items: { type: 'object', required: ['url', 'on', 'include_sql'], properties: shownNotice },
} as const

const body = {
  type: 'object',
  required: ['url'],
  properties: {
    url,
    on: { type: 'array', items: { type: 'string', enum: webhookEvents }, description: 'All unless told' },
    secret,
    include_sql: includeSql,
    enabled: { type: 'boolean', default: true },
    ...knownExtras,
  },
} as const

const members = {
  id: uuid,
  url: { type: 'string' },
  on: { type: 'array', items: { type: 'string', enum: webhookEvents } },
  include_sql: { type: 'boolean' },
  enabled: { type: 'boolean' },
  created_at: { type: 'string', format: 'date-time' },
} as const
const webhook = { title: 'Webhook', ...answered(members) } as const

const delivery = {
  title: 'Delivery',
  ...answered({
    id: uuid,
    webhook_id: uuid,
    url: { type: 'string' },
    type: text('The type of the message'),
    job_id: { type: ['string', 'null'], description: 'The job or import; null: a test' },
    status: { type: 'string', enum: deliveryStatuses },
    attempts: { type: 'integer' },
    response_status: { type: ['integer', 'null'], description: 'Of the last answer' },
    failure: { type: ['string', 'null'] },
    next_attempt_at: { type: ['string', 'null'] },
    created_at: { type: 'string', format: 'date-time' },
    updated_at: { type: 'string', format: 'date-time' },
  }),
} as const

export const listWebhooksSchema = {
  tags,
  summary: 'List webhooks',
  params: accountParams,
  response: {
    200: { description: 'The oldest first', ...answered({ webhooks: { type: 'array', items: webhook } }) },
  },
} as const

export const createWebhookSchema = {
  tags,
  summary: 'Get a message at the end of all jobs and imports',
  description:
    'Messages are sent at least once, after the convention of Standard Webhooks, and tried again for 24 hours. Jobs do not wait for them.',
  params: accountParams,
  body,
  response: {
    201: {
      description: 'Only this answer has the secret',
      title: 'NewWebhook',
      ...answered({ ...members, secret: { type: 'string' } }),
    },
  },
} as const

export const changeWebhookSchema = {
  tags,
  summary: 'Replace a webhook',
  description: 'Without a secret it keeps the one that it has.',
  params: webhookParams,
  body,
  response: { 200: { description: 'The webhook', ...webhook } },
} as const

export const deleteWebhookSchema = {
  tags,
  summary: 'Delete a webhook',
  description: 'With the messages that it has not delivered.',
  params: webhookParams,
  response: { 204: { description: 'It is gone', type: 'null' } },
} as const

export const testWebhookSchema = {
  tags,
  summary: 'Send a test message',
  description: 'Of the type `webhook.test`.',
  params: webhookParams,
  response: { 202: { description: 'It will be sent', ...delivery } },
} as const

export const listDeliveriesSchema = {
  tags,
  summary: 'List messages',
  description:
    'The newest first. Delivered messages are kept for three days, undelivered messages for thirty.',
  params: accountParams,
  querystring: {
    type: 'object',
    properties: {
      status: { type: 'string', enum: deliveryStatuses },
      per_page: {
        type: 'integer',
        minimum: 1,
        maximum: maxDeliveriesPerPage,
        default: maxDeliveriesPerPage,
      },
      after: { type: 'string', description: 'The next of the page before' },
    },
  },
  response: {
    200: {
      title: 'DeliveryList',
      description: 'One page',
      ...answered({
        deliveries: { type: 'array', items: delivery },
        next: { type: ['string', 'null'], description: 'The value of after for the next page' },
      }),
    },
  },
} as const

export const redeliverSchema = {
  tags,
  summary: 'Send a message again',
  params: deliveryParams,
  response: { 202: { description: 'It will be sent', ...delivery } },
} as const
