import { apis, dataServices, schemaPermissions, tablePermissions } from '../../contract/grants.ts'
import { maxKeyNameLength } from '../../contract/limits.ts'
import { knownExtras } from '../middleware/schemas.ts'
import type { BodyShape } from './validate-key-body.ts'

/** The shape of a creation: request.ts validates with it, and the OpenAPI description uses it. */

export const grantShapes = {
  apis: {
    type: 'object',
    required: ['type', 'apis'],
    additionalProperties: false,
    properties: {
      type: { type: 'string', enum: ['apis'] },
      apis: { type: 'array', items: { type: 'string', enum: apis } },
    },
  },
  database: {
    type: 'object',
    required: ['type'],
    additionalProperties: false,
    properties: {
      type: { type: 'string', enum: ['database'] },
      tables: {
        type: 'array',
        items: {
          type: 'object',
          required: ['schema', 'name', 'permissions'],
          additionalProperties: false,
          properties: {
            schema: { type: 'string' },
            name: { type: 'string' },
            permissions: { type: 'array', items: { type: 'string', enum: tablePermissions } },
            owner: { description: 'True if the key made the table itself. Ignored in requests.' },
          },
        },
      },
      schemas: {
        type: 'array',
        items: {
          type: 'object',
          required: ['name', 'permissions'],
          additionalProperties: false,
          properties: {
            name: { type: 'string' },
            permissions: { type: 'array', items: { type: 'string', enum: schemaPermissions } },
          },
        },
      },
      table_metadata: {
        type: 'array',
        description: 'Its presence allows listing the metadata of all tables.',
      },
    },
  },
  dataservices: {
    type: 'object',
    required: ['type', 'services'],
    additionalProperties: false,
    properties: {
      type: { type: 'string', enum: ['dataservices'] },
      services: { type: 'array', items: { type: 'string', enum: dataServices } },
    },
  },
} as const satisfies Record<string, BodyShape>

/** Further members of a document that was read from us; ignored when it is posted again. */
const carried = ['user', 'type', 'token', 'created_at', 'updated_at', '_links'] as const

export const newKeyShape = {
  type: 'object',
  required: [],
  additionalProperties: false,
  properties: {
    name: { description: `Any printable characters, ${maxKeyNameLength} at most` },
    grants: { description: 'One `apis` section, and at most one of `database` and `dataservices`' },
    ...knownExtras,
    ...Object.fromEntries(carried.map((name) => [name, { description: 'Ignored' }])),
  },
} as const satisfies BodyShape
