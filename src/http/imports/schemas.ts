import { onConflicts, onErrors, rejectLists } from '../../contract/formats.ts'
import { collisionStrategies, importPrivacies } from '../../contract/import-names.ts'
import { defaultBadRows, maxBadRows } from '../../contract/limits.ts'
import { importPhases } from '../../imports/import-record.ts'
import { rejectedRow } from '../copy/schemas.ts'
import { accountName, accountParams, answered, idempotencyHeaders, waitQuery } from '../middleware/schemas.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const text = { type: 'string' } as const
const maybeText = { type: ['string', 'null'] } as const
const whole = { type: 'integer' } as const
const flag = { type: 'boolean' } as const
const texts = { type: 'array', items: text } as const

const importParams = {
  type: 'object',
  properties: { ...accountName, importId: { type: 'string', format: 'uuid' } },
} as const

const document = {
  title: 'Import',
  ...answered(
    {
      id: text,
      item_queue_id: text,
      queue_id: text,
      user_id: { type: 'string', description: 'The user name' },
      table_id: maybeText,
      table_name: { type: ['string', 'null'], description: 'The first table' },
      table_names: texts,
      data_type: { enum: ['file', 'url', 'query'] },
      state: { enum: [...importPhases, 'complete', 'failure'] },
      error_code: { type: ['integer', 'null'] },
      tables_created_count: whole,
      synchronization_id: { type: 'null' },
      type_guessing: flag,
      quoted_fields_guessing: flag,
      content_guessing: flag,
      create_visualization: flag,
      visualization_id: { type: 'null' },
      user_defined_limits: text,
      get_error_text: {
        type: ['object', 'null'],
        properties: { title: text, what_about: text, source: { enum: ['user', 'cartodb'] } },
        required: ['title', 'what_about', 'source'],
      },
      display_name: maybeText,
      original_url: maybeText,
      warnings: {
        type: ['object', 'null'],
        properties: {
          renamed: texts,
          columns_as_text: texts,
          encoding: text,
          srid_assumed: whole,
          skipped_files: texts,
          skipped_tables: texts,
          empty: texts,
          missing_columns: texts,
          closed_rings: texts,
          rounded_times: texts,
          rounded_numbers: texts,
          feature_ids: texts,
        },
      },
      is_raster: flag,
      created_at: { type: 'string', format: 'date-time' },
      updated_at: { type: 'string', format: 'date-time' },
      progress: answered({
        bytes_read: whole,
        bytes_total: whole,
        rows: whole,
        tables_done: whole,
        tables_total: whole,
      }),
      total_rows: { type: 'integer', description: 'With on_error=skip, upsert and on_conflict: rows loaded' },
      rejected_rows: { type: 'integer', description: 'With on_error=skip, if rows were left out' },
      inserted_rows: { type: 'integer', description: 'With upsert and on_conflict' },
      updated_rows: { type: 'integer', description: 'With upsert and on_conflict' },
      rejected: { type: 'array', items: rejectedRow, description: 'The first 100 of them, or all' },
      rejected_sections: {
        type: 'array',
        items: answered({ table: text, rows: whole, header: text, columns: texts }, ['header', 'columns']),
        description:
          'With rejects=all: the table of the rows, and the header of their CSV, or the columns of their COPY text',
      },
      preview: {
        type: 'array',
        items: answered({
          table: text,
          layer: { type: ['string', 'null'] },
          rows: whole,
          columns: { type: 'array', items: answered({ name: text, type: text }) },
          first_rows: { type: 'array', items: { type: 'array', items: { type: ['string', 'null'] } } },
          encoding: { type: ['string', 'null'], description: 'Of the text in the file' },
          reference_system: {
            ...answered({ srid: { type: ['integer', 'null'] }, name: { type: ['string', 'null'] } }),
            type: ['object', 'null'],
            description: 'Of the coordinates in the file. null: the file does not name it, or has none',
          },
          first_shapes: {
            type: 'array',
            items: { type: 'object', additionalProperties: true },
            description: 'GeoJSON geometries of the first rows, simplified for a small map',
          },
        }),
        description: 'With preview: the tables that the import would make, and their first rows',
      },
      success: { type: 'boolean', description: 'Only in a final state' },
    },
    ['success', 'rejected_rows', 'inserted_rows', 'updated_rows', 'rejected', 'rejected_sections', 'preview'],
  ),
} as const

const tags = ['imports']

const parameters = {
  filename: { type: 'string', description: 'The body is the file itself, under this name' },
  table_name: text,
  collision_strategy: {
    enum: collisionStrategies,
    description: 'If the table exists. Absent: another name is chosen',
  },
  on_conflict: {
    enum: onConflicts,
    description: 'update: as upsert. nothing: rows of the table with the same key stay as they are',
  },
  key: { type: 'string', description: 'For upsert and on_conflict: the columns that identify a row' },
  add_columns: { type: 'boolean', default: false, description: 'For append and upsert' },
  privacy: { enum: importPrivacies, description: 'public and link: readable without a key' },
  type_guessing: { type: 'boolean', default: true, description: 'For CSV: false makes every column text' },
  quoted_fields_guessing: {
    type: 'boolean',
    default: true,
    description: 'For CSV: false leaves quoted values text',
  },
  sheet: { type: 'string', description: 'Of a workbook; the first one otherwise' },
  layer: { type: 'string', description: 'Only these layers of the file, separated by commas' },
  on_error: { enum: onErrors, description: 'skip: leave out the rows that PostgreSQL refuses' },
  max_bad_rows: {
    type: 'integer',
    minimum: 0,
    maximum: maxBadRows,
    default: defaultBadRows,
    description: 'With on_error=skip: more bad rows fail the import',
  },
  rejects: {
    enum: rejectLists,
    default: 'first',
    description:
      'With on_error=skip: list the first 100 rejected rows, their text cut at 1 KB, or all with their whole text, up to 16 MB',
  },
  preview: {
    type: 'boolean',
    default: false,
    description:
      'For a file: it is read and checked, and nothing is stored. The document has its layers, columns, types, first rows, encoding and reference system in `preview`',
  },
  sql: { type: 'string', description: 'One SELECT whose rows become the table table_name' },
  table_copy: { type: 'string', description: 'A table to copy to table_name' },
  url: { type: 'string', description: 'Where the service fetches the file, if its operator allows that' },
} as const

export const createImportSchema = {
  tags,
  summary: 'Import a file',
  description:
    'One source: the part `file` of a multipart body, a raw body with `filename`, `url`, `sql` or `table_copy`. All parameters may be in the query or the body. Answers when the file is stored; read the import for its state.',
  params: accountParams,
  headers: idempotencyHeaders('The same request with the same key answers the same import'),
  consumes: [
    'multipart/form-data',
    'application/octet-stream',
    'application/json',
    'application/x-www-form-urlencoded',
  ],
  querystring: { type: 'object', properties: parameters },
  body: { type: 'object', properties: { file: { type: 'string', format: 'binary' }, ...parameters } },
  response: {
    200: {
      description: 'The import is queued',
      ...answered({ item_queue_id: text, success: { const: true } }),
      headers: { Location: text, 'Idempotency-Replayed': text },
    },
    413: { description: 'The file is too large' },
    429: { description: 'All import slots of the user are in use' },
  },
}

export const listImportsSchema = {
  tags,
  summary: 'List imports',
  description:
    'Unfinished imports of the last 24 hours, the newest first. Keys see their own, the master key all.',
  params: accountParams,
  querystring: {
    type: 'object',
    properties: { all: { type: 'boolean', description: 'true: every one that is kept' } },
  },
  response: { 200: { description: 'Their ids', ...answered({ imports: texts, success: { const: true } }) } },
}

export const readImportSchema = {
  tags,
  summary: 'Read an import',
  params: importParams,
  querystring: waitQuery('the import'),
  response: { 200: { ...document, description: 'The import' } },
}

export const cancelImportSchema = {
  tags,
  summary: 'Cancel an import',
  description: 'Answers when the work of the import has stopped. No table and no file stays.',
  params: importParams,
  response: { 200: { ...document, description: 'The import, failed with code 6672' } },
}
