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
    dependent_visualizations: { type: 'array', items: text, description: 'Always empty' },
    dependent_visualizations_count: { type: 'integer' },
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

export const changeTableSchema = {
  tags: ['tables'],
  summary: 'Rename a table, make it public or private',
  description:
    'Needs a key that owns the table, or the master key. Other members of the body are ignored. Both changes are made, or none.',
  params: tableParams,
  body: {
    type: 'object',
    properties: {
      privacy: { type: 'string', enum: acceptedPrivacies },
      name: { type: 'string', description: 'Becomes a plain name: lower case, no accents' },
    },
    examples: [{ privacy: 'PUBLIC' }],
  },
  response: { 200: { ...table, description: 'The table as it is now' } },
} as const

export const deleteTableSchema = {
  tags: ['tables'],
  summary: 'Delete a table',
  description: 'Needs a key that owns the table, or the master key. 400 if a view depends on it.',
  params: tableParams,
  response: { 204: { description: 'It is gone', type: 'null' } },
} as const

export const detailsSchema = {
  tags: ['tables'],
  summary: 'Read the rows, size and kinds of geometry of a table',
  params: tableParams,
  response: {
    200: {
      description: 'The table',
      ...answered({
        id: text,
        name: text,
        privacy: { enum: privacies },
        schema: text,
        updated_at: { type: 'string', format: 'date-time' },
        rows_counted: { type: ['integer', 'null'], description: 'Estimated; null if not counted yet' },
        row_count: { type: ['integer', 'null'] },
        table_size: whole,
        size: whole,
        geometry_types: { type: 'array', items: text, description: 'Among its first rows' },
        table_visualization: answered({ id: text, name: text }),
      }),
    },
  },
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
