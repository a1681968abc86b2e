import { restorePhases } from '../../contract/admin-names.ts'
import { defaultMoves, maxRecords } from '../../contract/limits.ts'
import { answered, knownExtras } from '../middleware/schemas.ts'

/** The OpenAPI description of backups, and of users that are restored from them. */

const tags = ['admin']
const text = { type: 'string' } as const
const time = { type: 'string', format: 'date-time' } as const

const backup = {
  title: 'Backup',
  description: 'A file of `cartage backup`',
  ...answered({
    file: { ...text, description: 'Its name in the folder of CARTAGE_BACKUP_DIR' },
    bytes: { type: 'integer', minimum: 0 },
    created_at: time,
    version: { ...text, description: 'Of Cartage' },
    postgres: { type: 'integer', description: 'The version of PostgreSQL' },
    has_secret: {
      type: 'boolean',
      description: 'The secret of the installation is in it, sealed. A restore of one user does not need it',
    },
  }),
} as const

export const backupListSchema = {
  tags,
  summary: 'List the backups that users can be restored from',
  description: 'The files in the folder of CARTAGE_BACKUP_DIR that the process that answers can read.',
  response: {
    200: { description: 'The newest first', ...answered({ backups: { type: 'array', items: backup } }) },
  },
} as const

const restore = {
  title: 'Restore',
  description: 'The restore',
  ...answered({
    id: { type: 'integer', minimum: 1 },
    file: text,
    backup_of: { ...time, description: 'When the backup was made' },
    username: { ...text, description: 'The user in the backup' },
    restored_as: { ...text, description: 'The user that is made of it' },
    phase: { enum: restorePhases, description: 'From `opening` on the new user is made' },
    progress: { type: 'integer', minimum: 0, maximum: 100, description: 'In percent' },
    error: { type: ['string', 'null'], description: 'Why it failed. There is no new user' },
    keys: { type: 'array', items: text, description: 'The keys that have new tokens' },
    created_at: time,
    ended_at: { type: ['string', 'null'], format: 'date-time' },
  }),
} as const

export const newRestoreSchema = {
  tags,
  summary: 'Restore a user from a backup',
  description:
    'Makes a new user with the data, limits and keys that a user has in the backup; the user of that name now is not changed. Answers 202 when it has begun; read the restore to see its phase. The master key and all other keys have new tokens. One user at a time in each process of the service.',
  body: {
    type: 'object',
    required: ['file', 'username', 'as'],
    additionalProperties: false,
    properties: {
      file: { ...text, description: 'The name of the backup' },
      username: { ...text, description: 'The user in the backup' },
      as: { ...text, description: 'The name of the new user' },
      ...knownExtras,
    },
    examples: [{ file: '2026-05-01.tar.gz', username: 'alice', as: 'alice-of-may' }],
  },
  response: { 202: restore },
} as const

export const restoreListSchema = {
  tags,
  summary: 'List restores of users, the newest first',
  querystring: {
    type: 'object',
    properties: { limit: { type: 'integer', minimum: 1, maximum: maxRecords, default: defaultMoves } },
  },
  response: {
    200: { description: 'The newest restores', ...answered({ restores: { type: 'array', items: restore } }) },
  },
} as const

export const restoreSchema = {
  tags,
  summary: 'Read a restore of a user',
  params: { type: 'object', properties: { restore: { ...text, description: 'The id of the restore' } } },
  response: { 200: restore },
} as const

export const restoreCancelSchema = {
  tags,
  summary: 'Cancel a restore of a user',
  description:
    'Answers 202 at once: what was made is removed, and then the phase is `failed`. When the new user is made the answer is 409 `restore-refused`.',
  params: restoreSchema.params,
  response: { 202: restore },
} as const
