import { movePhases } from '../../contract/admin-names.ts'
import { defaultMoves, maxRecords } from '../../contract/limits.ts'
import { answered, knownExtras } from '../middleware/schemas.ts'

/** The OpenAPI description of moves. */

const text = { type: 'string' } as const
const time = { type: 'string', format: 'date-time' } as const
const laterTime = { type: ['string', 'null'], format: 'date-time' } as const

const move = {
  title: 'Move',
  description: 'The move',
  ...answered({
    id: { type: 'integer', minimum: 1 },
    username: { type: ['string', 'null'], description: 'Null if an organization moves' },
    organization: {
      type: ['string', 'null'],
      description: 'Null if the user is not a member of an organization',
    },
    from_host: text,
    to_host: text,
    phase: {
      enum: movePhases,
      description: 'Before `cleaning` the account is on its old host, from then on on the new one',
    },
    progress: { type: 'integer', minimum: 0, maximum: 100, description: 'In percent' },
    error: { type: ['string', 'null'], description: 'Why it failed. The account is where it was' },
    created_at: time,
    stopped_at: { ...laterTime, description: 'Since when requests are refused' },
    served_at: { ...laterTime, description: 'Since when requests are served again' },
    ended_at: laterTime,
  }),
} as const

const newMove = {
  type: 'object',
  required: ['host'],
  additionalProperties: false,
  properties: { host: { ...text, description: 'The name of the host' }, ...knownExtras },
  examples: [{ host: 'second' }],
} as const

export const newMoveSchema = {
  tags: ['admin'],
  summary: 'Move a user to another host',
  description:
    'Answers 202 at once; read the move to see its phase. During the move, requests of the user are 503 `account-moving` with `Retry-After`, and its jobs wait. A move that fails leaves the user where it was.',
  params: { type: 'object', properties: { username: text } },
  body: newMove,
  response: { 202: move },
} as const

export const newOrganizationMoveSchema = {
  tags: ['admin'],
  summary: 'Move an organization to another host',
  description:
    'Moves all members, because they share one database. Otherwise like the move of a user. During the move members cannot be added or deleted.',
  params: { type: 'object', properties: { organization: text } },
  body: newMove,
  response: { 202: move },
} as const

export const moveListSchema = {
  tags: ['admin'],
  summary: 'List moves, the newest first',
  querystring: {
    type: 'object',
    properties: { limit: { type: 'integer', minimum: 1, maximum: maxRecords, default: defaultMoves } },
  },
  response: {
    200: { description: 'The newest moves', ...answered({ moves: { type: 'array', items: move } }) },
  },
} as const

export const moveSchema = {
  tags: ['admin'],
  summary: 'Read a move',
  params: { type: 'object', properties: { move: { ...text, description: 'The id of the move' } } },
  response: { 200: move },
} as const

export const moveCancelSchema = {
  tags: ['admin'],
  summary: 'Cancel a move',
  description:
    'Answers 202 at once: the move is undone, and then its phase is `failed`. After the switch to the new host the answer is 409 `move-decided`.',
  params: moveSchema.params,
  response: { 202: move },
} as const

export const drainSchema = {
  tags: ['admin'],
  summary: 'Drain a host',
  description:
    'The host takes no new users and no moves. Every user and organization on it moves to the host whose databases take the fewest bytes, or to the host in `to`: the largest first, one at a time in each process of the service. Can be repeated, which tries failed moves again.',
  params: { type: 'object', properties: { host: text } },
  body: {
    type: 'object',
    additionalProperties: false,
    properties: { to: { ...text, description: 'The name of the host that takes all' }, ...knownExtras },
    examples: [{ to: 'second' }],
  },
  response: {
    202: {
      title: 'Drain',
      description: 'What moves, and what does not',
      ...answered({
        host: text,
        moves: { type: 'array', items: move, description: 'From this host, and not ended' },
        left: {
          type: 'array',
          description: 'What has no move. Empty, as `moves` is: the host can be removed',
          items: answered({
            username: { type: ['string', 'null'] },
            organization: { type: ['string', 'null'] },
            reason: text,
          }),
        },
      }),
    },
  },
} as const
