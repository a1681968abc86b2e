import { activityKinds, activityWaits, auditActions } from '../../contract/admin-names.ts'
import { checkStatuses } from '../../contract/health-names.ts'
import { defaultActivityRecords, defaultAuditRecords, maxRecords } from '../../contract/limits.ts'
import { answered } from '../middleware/schemas.ts'

/** The OpenAPI description of doctor, audit and activity. */

const text = { type: 'string' } as const
const time = { type: 'string', format: 'date-time' } as const
const whole = { type: 'integer', minimum: 0 } as const
const limit = (byDefault: number) =>
  ({ type: 'integer', minimum: 1, maximum: maxRecords, default: byDefault }) as const

const listOf = (name: string, description: string, items: object) => ({
  200: { description, ...answered({ [name]: { type: 'array', items } }) },
})

export const doctorSchema = {
  tags: ['admin'],
  summary: 'Check the installation and say what to do',
  description: 'Changes nothing. A host that does not answer within 5 s is a check that fails.',
  response: listOf('checks', 'Every check that was made', {
    title: 'Check',
    ...answered({
      name: text,
      status: { enum: checkStatuses },
      advice: { ...text, description: 'What was found, and what to do about it' },
    }),
    examples: [{ name: 'host local: PostGIS', status: 'ok', advice: 'PostGIS 3.5.2' }],
  }),
} as const

export const auditSchema = {
  tags: ['admin'],
  summary: 'Read the audit record, the newest first',
  description:
    'Changes of accounts, keys and hosts, the first use of each key a day, and refused authentications. Never a token.',
  querystring: {
    type: 'object',
    properties: {
      account: { ...text, description: 'Only what happened to this user or organization' },
      user: { ...text, description: 'The same as `account`' },
      action: { ...text, enum: auditActions },
      since: { ...time, description: 'Only records from this time on' },
      limit: limit(defaultAuditRecords),
      before: { type: 'integer', minimum: 1, description: 'Only records older than the one with this id' },
    },
  },
  response: listOf('records', 'The newest matching records', {
    title: 'AuditRecord',
    ...answered({
      id: whole,
      at: time,
      actor: { ...text, description: '`operator`, a user, or the address of a refused request' },
      action: { ...text, enum: auditActions },
      account: { type: ['string', 'null'] },
      subject: { type: ['string', 'null'], description: 'Within the account, such as the name of a key' },
      details: { type: 'object' },
    }),
  }),
} as const

const kind = { ...text, enum: activityKinds } as const

const statement = {
  title: 'ActivityStatement',
  ...answered({
    id: { ...text, description: 'To stop it. Of a job or import: its own id' },
    username: text,
    key: {
      type: ['string', 'null'],
      description: 'The name of the key; null for a job, which runs as the account',
    },
    kind,
    since: time,
    host: text,
    waits_for: {
      type: ['string', 'null'],
      enum: [...activityWaits, null],
      description:
        '`slot` and `connection`: one of Cartage; `client`: PostgreSQL waits for the client; `lock`; `server`: something else in PostgreSQL; null: PostgreSQL works',
    },
    wait_event: { type: ['string', 'null'], description: "PostgreSQL's own word, such as `Lock: relation`" },
    blocked_by: {
      type: 'array',
      items: text,
      description: 'The ids of the statements that hold it up; `pid N (role)` for what is none of these',
    },
    text: {
      type: ['string', 'null'],
      description: 'null for a statement of the service, an import, and a session between two statements',
    },
    text_is_cut: { type: 'boolean' },
  }),
} as const

export const activitySchema = {
  tags: ['admin'],
  summary: 'What runs now, and who waits',
  description:
    'In all processes: `statements` has everything that runs for callers, longest first, `running` has the running jobs, and `waiting` the users with waiting jobs, in the order of their turns. A process that does not answer within 2 s is left out.',
  querystring: {
    type: 'object',
    properties: {
      limit: { ...limit(defaultActivityRecords), description: 'Maximum number of each' },
      user: { ...text, description: 'Only the statements of this user' },
      text: {
        ...text,
        enum: ['cut', 'full'],
        default: 'cut',
        description:
          'SQL is cut at 1,024 characters; `full` at 262,144, and this is recorded in the audit record',
      },
    },
  },
  response: {
    200: {
      title: 'Activity',
      description: 'The current state',
      ...answered({
        running: {
          type: 'array',
          items: {
            ...answered({
              job_id: text,
              username: text,
              item: { ...whole, description: 'The item that was begun last, from 1' },
              items: whole,
              started_at: time,
              host: text,
              worker: {
                type: ['string', 'null'],
                description: 'null: its worker is gone, another takes over',
              },
            }),
          },
        },
        waiting: {
          type: 'array',
          items: { ...answered({ username: text, jobs: whole, oldest_at: time }) },
        },
        statements: { type: 'array', items: statement },
        left_out: {
          ...answered({ running: whole, waiting: whole, statements: whole }),
          description: 'How many running jobs, waiting users and statements are beyond the limit',
        },
        silent_processes: {
          ...whole,
          description: 'Processes that did not answer in time: what they run is missing in `statements`',
        },
      }),
    },
  },
} as const

const stopped = {
  200: {
    title: 'StoppedActivity',
    description: 'What was stopped',
    ...answered({
      stopped: {
        type: 'array',
        items: {
          ...answered({
            id: text,
            username: text,
            kind,
            has_ended: {
              type: 'boolean',
              description: 'false: it was stopped, but has not ended within 4 s',
            },
          }),
        },
      },
      silent_processes: {
        ...whole,
        description: 'Processes that did not answer in time: what they run may not have been stopped',
      },
    }),
  },
} as const

export const stopActivitySchema = {
  tags: ['admin'],
  summary: 'Stop a statement, or cancel a job',
  description:
    'The caller of the statement gets 409 `statement-cancelled`, unless the statement was done before. A session between two statements ends. Ids are not used again, so a late stop stops nothing else. The audit record has the stop.',
  response: stopped,
} as const

export const stopUserActivitySchema = {
  tags: ['admin'],
  summary: 'Stop all statements of a user, and cancel its running jobs',
  description: 'Waiting jobs stay in the queue, and new requests are served: suspend the user to stop these.',
  response: stopped,
} as const
