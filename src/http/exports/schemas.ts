import { sqlFormats } from '../../contract/formats.ts'
import { defaultLinkSeconds, maxLinkDownloads, maxLinkSeconds } from '../../contract/limits.ts'
import { accountName, accountParams, answered, apiKey, text } from '../middleware/schemas.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const tags = ['sql']

const exportParams = {
  type: 'object',
  properties: { ...accountName, exportId: { type: 'string', format: 'uuid' } },
} as const

const format = { type: 'string', enum: sqlFormats } as const

export const createExportSchema = {
  tags,
  summary: 'Make a link to the rows of a query',
  description:
    'The link works without a key until it expires. The query runs when the link is opened, as the key that made it, in a read-only transaction. The link ends when its key is deleted or gets a new token.',
  params: accountParams,
  body: {
    type: 'object',
    required: ['q'],
    properties: {
      q: text('One SELECT'),
      format: { ...format, default: 'csv' },
      filename: text('Of the downloaded file'),
      expires_in: {
        type: 'integer',
        minimum: 1,
        maximum: maxLinkSeconds,
        default: defaultLinkSeconds,
        description: 'Seconds',
      },
      max_downloads: { type: 'integer', minimum: 1, maximum: maxLinkDownloads },
      api_key: apiKey,
    },
  },
  response: {
    201: {
      description: 'The link. Only this answer has its address',
      ...answered({
        id: { type: 'string', format: 'uuid' },
        url: { type: 'string' },
        expires_at: { type: 'string', format: 'date-time' },
      }),
    },
  },
} as const

export const listExportsSchema = {
  tags,
  summary: 'List links',
  description: 'The newest first. Keys see their own, the master key all.',
  params: accountParams,
  response: {
    200: {
      description: 'The links that work',
      ...answered({
        exports: {
          type: 'array',
          items: {
            title: 'Export',
            ...answered({
              id: { type: 'string', format: 'uuid' },
              q: { type: 'string' },
              format,
              filename: { type: ['string', 'null'] },
              key: text('The name of the key that it runs as'),
              downloads: { type: 'integer' },
              max_downloads: { type: ['integer', 'null'] },
              created_at: { type: 'string', format: 'date-time' },
              expires_at: { type: 'string', format: 'date-time' },
            }),
          },
        },
      }),
    },
  },
} as const

export const deleteExportSchema = {
  tags,
  summary: 'Withdraw a link',
  params: exportParams,
  response: { 204: { description: 'It works no longer', type: 'null' } },
} as const

export const downloadExportSchema = {
  tags,
  summary: 'Open a link',
  description: 'Needs no key. A download that fails before its first byte does not count.',
  security: [],
  params: {
    type: 'object',
    properties: { ...exportParams.properties, secret: { type: 'string' } },
  },
  response: { 200: { description: 'The rows, in the format of the link' } },
} as const
