import {
  defaultHistoryPage,
  historyOutcomes,
  maxHistoryCode,
  maxHistoryEntries,
  maxHistoryNumber,
  maxHistoryPage,
  maxHistorySearch,
  maxHistoryText,
} from '../../contract/limits.ts'
import {
  accountName,
  accountParams,
  answered,
  keySecurity,
  knownExtras,
  text,
} from '../middleware/schemas.ts'

/** Described, not enforced: the reader refuses in the words of this API. */

const tags = ['sql']

const id = { type: 'string', format: 'uuid' } as const
const whole = { type: 'integer', minimum: 0, maximum: maxHistoryNumber } as const
const outcome = { type: 'string', enum: historyOutcomes } as const
const key = text(
  'What ran with the key of this name, for holders of the master key; unless told, the history of the key of the request',
)

const statement = {
  title: 'KeptStatement',
  ...answered({
    id,
    at: { type: 'string', format: 'date-time', description: 'When the service was told' },
    key: {
      type: ['string', 'null'],
      description: 'The name of the key that ran it; null if that key was deleted',
    },
    text: text('Tokens of this service are left out'),
    text_is_cut: { type: 'boolean', description: 'Its end is missing' },
    outcome,
    ms: { ...whole, description: 'How long it took' },
    rows: { ...whole, type: ['integer', 'null'] },
    code: { type: ['string', 'null'], description: 'The code of its error, or its SQLSTATE' },
  }),
} as const

const kept = `At most ${maxHistoryEntries} statements of a key are kept, for CARTAGE_HISTORY_DAYS (90) days.`

export const listHistorySchema = {
  tags,
  security: keySecurity,
  summary: 'List the statements that people ran',
  description: `Those that programs such as the console have told. The newest first. ${kept}`,
  params: accountParams,
  querystring: {
    type: 'object',
    properties: {
      key,
      target_user: text('The user whose key it is, for owners and admins of an organization'),
      search: { type: 'string', maxLength: maxHistorySearch, description: 'Statements with this text' },
      before: { ...whole, minimum: 1, description: 'The `next` of the page before' },
      limit: { type: 'integer', minimum: 1, maximum: maxHistoryPage, default: defaultHistoryPage },
    },
  },
  response: {
    200: {
      title: 'HistoryList',
      description: 'The statements',
      ...answered({
        kept_days: {
          type: 'integer',
          minimum: 0,
          description: 'How long statements are kept; 0: the operator keeps none',
        },
        statements: { type: 'array', items: statement },
        next: {
          type: ['integer', 'null'],
          description: 'For `before` of the next page; null: this is the last',
        },
      }),
    },
  },
} as const

export const tellHistorySchema = {
  tags,
  security: keySecurity,
  summary: 'Tell the history that a statement was run',
  description: `Programs with which people run SQL do this after it. Nothing is run. ${kept}`,
  params: accountParams,
  body: {
    type: 'object',
    required: ['id', 'text', 'outcome', 'ms'],
    additionalProperties: false,
    properties: {
      id: { ...id, description: 'Of your own: a statement that is told twice is kept once' },
      text: text(`The first ${maxHistoryText} characters are kept`),
      text_is_cut: { type: 'boolean', default: false, description: 'Its end is not sent' },
      outcome,
      ms: { ...whole, description: 'How long it took' },
      rows: { ...whole, type: ['integer', 'null'] },
      code: { type: ['string', 'null'], maxLength: maxHistoryCode, description: 'Of its error' },
      key: text(
        'The key that ran it, if that is another one: the public key or, with the master key, any of the account',
      ),
      ...knownExtras,
    },
    examples: [
      {
        id: '5d0f1f6c-2b7e-4a6e-9a53-0d1f3c7050e4',
        text: 'select * from places',
        outcome: 'done',
        ms: 12,
        rows: 40,
      },
    ],
  },
  response: {
    200: {
      title: 'ToldStatement',
      description: 'It is in the history, unless the operator keeps none',
      ...answered({
        id,
        kept: { type: 'boolean', description: 'False: the operator keeps no history' },
      }),
    },
  },
} as const

const gone = { 204: { description: 'They are gone', type: 'null' } } as const

export const clearHistorySchema = {
  tags,
  security: keySecurity,
  summary: 'Delete the history',
  description: 'All of it.',
  params: accountParams,
  querystring: { type: 'object', properties: { key } },
  response: gone,
} as const

export const deleteEntrySchema = {
  tags,
  security: keySecurity,
  summary: 'Delete a statement from the history',
  description: 'From that of the key, with the master key from that of any key of the account.',
  params: { type: 'object', properties: { ...accountName, entry: id } },
  response: { 204: { description: 'It is gone', type: 'null' } },
} as const
