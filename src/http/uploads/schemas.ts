import { copyAnswer } from '../copy/schemas.ts'
import { accountName, accountParams, answered, text } from '../middleware/schemas.ts'
import { uploadStates } from './document.ts'
import { partType, uploadKinds } from './request.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const tags = ['imports']

const uploadParams = {
  type: 'object',
  properties: { ...accountName, uploadId: { type: 'string', format: 'uuid' } },
} as const

const version = { 'tus-resumable': { const: '1.0.0' } } as const
const offset = { type: 'integer', minimum: 0 } as const
const withVersion = { type: 'object', required: ['tus-resumable'], properties: version } as const

export const createUploadSchema = {
  tags,
  summary: 'Begin a resumable upload',
  description:
    'The protocol tus 1.0 with the extensions creation, termination, checksum and expiration. The answer names the address of the upload in `Location`; its bytes are sent there with PATCH. An upload that is not finished is removed after a day.',
  params: accountParams,
  headers: {
    type: 'object',
    required: ['tus-resumable', 'upload-length'],
    properties: {
      ...version,
      'upload-length': { type: 'integer', minimum: 1, description: 'Bytes of the file' },
      'upload-metadata': text(
        `Names with values in Base64: \`filename\`, \`kind\` (${uploadKinds.join(' or ')}), and the parameters of an import or a copyfrom under their own names; \`data_encoding\` is the compression of rows for copyfrom.`,
      ),
    },
  },
  response: {
    201: {
      description: 'The upload',
      headers: { Location: { type: 'string' }, 'Upload-Expires': { type: 'string' } },
    },
    413: { description: 'The file is larger than the limit, or than the quota leaves' },
    429: { description: 'Too many unfinished uploads' },
  },
}

export const readUploadSchema = {
  tags,
  summary: 'Read how much of an upload is there',
  params: uploadParams,
  headers: withVersion,
  response: {
    200: {
      description: 'In the headers. For a finished upload, Location names the import',
      headers: {
        'Upload-Offset': offset,
        'Upload-Length': offset,
        'Upload-Expires': { type: 'string' },
        'Upload-State': { type: 'string', enum: uploadStates },
        'Upload-Error': { type: 'string', description: 'The code of the error of the last load' },
        Location: { type: 'string' },
      },
    },
  },
}

export const showUploadSchema = {
  tags,
  summary: 'Read an upload and its result',
  description:
    'The same as HEAD, as a document, with the answer of a copyfrom or the error of its last load.',
  params: uploadParams,
  response: {
    200: {
      description: 'The upload',
      ...answered(
        {
          id: { type: 'string', format: 'uuid' },
          state: {
            type: 'string',
            enum: uploadStates,
            description:
              'refused: the last load was refused, and can be tried again with the last byte. unknown: the service stopped while it loaded, and PostgreSQL cannot tell the outcome any more.',
          },
          offset,
          length: offset,
          expires_at: { type: 'string', format: 'date-time' },
          import: text('The address of the import.'),
          answer: copyAnswer,
          refusal: answered(
            {
              status: { type: 'integer' },
              error: { type: 'array', items: { type: 'string' } },
              code: { type: 'string' },
              sqlstate: { type: 'string' },
              detail: { type: 'string' },
              hint: { type: 'string' },
              context: { type: 'string' },
              rejected_rows: { type: 'integer' },
            },
            ['sqlstate', 'detail', 'hint', 'context', 'rejected_rows'],
          ),
        },
        ['import', 'answer', 'refusal'],
      ),
    },
  },
}

export const appendToUploadSchema = {
  tags,
  summary: 'Send bytes of an upload',
  description:
    'The request with the last bytes makes the import, or stores the rows. Sent again, it gets the same answer.',
  params: uploadParams,
  consumes: [partType],
  headers: {
    type: 'object',
    required: ['tus-resumable', 'upload-offset'],
    properties: {
      ...version,
      'upload-offset': { ...offset, description: 'How much of the file is there' },
      'upload-checksum': text(
        'An algorithm and the checksum of these bytes in Base64: sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=',
      ),
    },
  },
  body: { type: 'string', format: 'binary' },
  response: {
    200: { description: 'The upload is whole: the answer of its copyfrom', ...copyAnswer },
    204: {
      description: 'The bytes are stored. After the last bytes Location names the import',
      headers: {
        'Upload-Offset': offset,
        'Upload-Expires': { type: 'string' },
        Location: { type: 'string' },
      },
    },
    409: { description: 'Upload-Offset is not how much is there' },
    423: { description: 'Another request is writing' },
    460: { description: 'The bytes do not have this checksum' },
  },
}

export const deleteUploadSchema = {
  tags,
  summary: 'Remove an upload',
  description:
    'The import or the rows of a finished upload stay. A running load is stopped and stores nothing.',
  params: uploadParams,
  headers: withVersion,
  response: {
    204: { description: 'It is gone' },
    409: { description: 'Its rows were stored before the load could be stopped' },
  },
}
