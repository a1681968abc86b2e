import {
  acceptedPrivacies,
  datasetModes,
  datasetOrders,
  datasetPrivacies,
  privacies,
  tableOrders,
} from '../../contract/table-names.ts'
import { answered, pageLinks, paging } from '../middleware/schemas.ts'

/** Described, not enforced: bad values are refused by readPage in the words of this API. */

const params = { type: 'object', properties: { name: { type: 'string', examples: ['alice'] } } } as const
const tableParams = {
  type: 'object',
  properties: { ...params.properties, table: { type: 'string', examples: ['airports'] } },
} as const

const text = { type: 'string' } as const
const time = { type: ['string', 'null'], format: 'date-time' } as const
const bytes = { type: ['integer', 'null'] } as const

const table = {
  title: 'Table',
  ...answered({
    id: text,
    name: text,
    display_name: text,
    type: { const: 'table' },
    kind: text,
    privacy: { enum: privacies },
    updated_at: { type: 'string', format: 'date-time' },
    title: { type: 'null' },
    description: { type: 'null' },
    tags: { type: 'array', items: text },
    locked: { type: 'boolean' },
    url: text,
    table: answered({
      id: text,
      name: text,
      schema: text,
      privacy: { enum: privacies },
      updated_at: time,
      size: bytes,
      row_count: { type: ['integer', 'null'], description: 'Estimated; null if not counted yet' },
    }),
  }),
} as const

const whole = { type: 'integer' } as const

export const tablesSchema = {
  tags: ['tables'],
  summary: "List the account's tables",
  description:
    'With privacy and time of last change; `page` counts from 1. Keys see the tables they have a right to.',
  params,
  querystring: {
    type: 'object',
    properties: {
      ...paging,
      type: { type: 'string', description: 'Only `table` exists here' },
      order: { type: 'string', enum: tableOrders, default: 'updated_at' },
    },
  },
  response: {
    200: {
      description: 'One page of tables',
      ...answered({
        visualizations: { type: 'array', items: table },
        total_entries: whole,
        total_user_entries: whole,
        total_likes: whole,
        total_shared: whole,
      }),
    },
  },
} as const

export const tableSchema = {
  tags: ['tables'],
  summary: 'Read what is known of a table',
  params: tableParams,
  response: { 200: { ...table, description: 'The table' } },
} as const

export const privacySchema = {
  tags: ['tables'],
  summary: 'Make a table public or private',
  description: 'Needs the master key. Only the member `privacy` of the body is used.',
  params: tableParams,
  body: {
    type: 'object',
    required: ['privacy'],
    properties: { privacy: { type: 'string', enum: acceptedPrivacies } },
    examples: [{ privacy: 'PUBLIC' }],
  },
  response: { 200: { ...table, description: 'The table as it is now' } },
} as const

export const datasetsSchema = {
  tags: ['tables'],
  summary: 'List tables, views and materialized views',
  description: 'Needs the master key or a key with `table_metadata`.',
  params,
  querystring: {
    type: 'object',
    properties: { ...paging, order: { type: 'string', enum: datasetOrders, default: 'name' } },
  },
  response: {
    200: {
      description: 'One page of them',
      ...answered({
        total: whole,
        count: whole,
        result: {
          type: 'array',
          items: answered({
            table_schema: text,
            name: text,
            type: text,
            mode: { enum: datasetModes },
            cartodbfied: { type: 'boolean' },
            shared: { type: 'boolean' },
            privacy: { enum: datasetPrivacies },
            updated_at: time,
          }),
        },
        _links: pageLinks,
      }),
    },
  },
} as const
