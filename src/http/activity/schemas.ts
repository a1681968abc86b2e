import { activityKinds, activityWaits } from '../../contract/admin-names.ts'
import { accountParams, answered, text } from '../middleware/schemas.ts'

const statement = {
  title: 'OwnActivityStatement',
  ...answered({
    id: text('Of a job or import: its own id'),
    key: {
      type: ['string', 'null'],
      description: 'The name of the key; null for a job, which runs as the account',
    },
    kind: { type: 'string', enum: activityKinds },
    since: { type: 'string', format: 'date-time' },
    waits_for: {
      type: ['string', 'null'],
      enum: [...activityWaits, null],
      description:
        '`slot` and `connection`: one of Cartage; `client`: PostgreSQL waits for the client; `lock`; `server`: something else in PostgreSQL; null: PostgreSQL works',
    },
    text: {
      type: ['string', 'null'],
      description:
        'Cut at 1,024 characters. null for a statement of the service, an import, and a session between two statements',
    },
    text_is_cut: { type: 'boolean' },
  }),
} as const

export const ownActivitySchema = {
  tags: ['accounts'],
  summary: 'What runs for the account now',
  description: 'In all processes, the longest running first, each with its key. Needs the master key.',
  params: accountParams,
  querystring: {
    type: 'object',
    properties: {
      target_user: text(
        'The organization member whose statements are meant; for owner and admins, as with keys',
      ),
    },
  },
  response: {
    200: {
      title: 'OwnActivity',
      description: 'What runs',
      ...answered({
        statements: { type: 'array', items: statement },
        left_out: { type: 'integer', minimum: 0, description: 'How many more run' },
        silent_processes: {
          type: 'integer',
          minimum: 0,
          description: 'Processes that did not answer within 2 seconds: what they run is missing',
        },
      }),
    },
  },
} as const
