import { defaultInvitationDays, longestInvitationDays } from '../../contract/limits.ts'
import { answered, knownExtras } from '../middleware/schemas.ts'
import { fullKey } from './full-schemas.ts'
import { onAccount, onKey } from './schemas.ts'

/** The OpenAPI description of invitations. */

const expires_at = { type: 'string', format: 'date-time' } as const

export const inviteSchema = {
  ...onKey,
  summary: 'Make a link that gives its receiver a regular key',
  description:
    'The person who accepts the link gets a new token of the key, once; until then the old token works. An earlier link to the key is no longer valid.',
  body: {
    type: 'object',
    properties: {
      expires_at: {
        ...expires_at,
        description: `When the link ends: within ${longestInvitationDays} days; by default ${defaultInvitationDays} days from now`,
      },
      ...knownExtras,
    },
    examples: [{}],
  },
  response: {
    201: {
      description: 'The link',
      title: 'Invitation',
      ...answered({
        invitation: { type: 'string', description: 'The secret in the link. It is shown only now' },
        url: { type: 'string' },
        expires_at,
      }),
    },
  },
} as const

export const withdrawSchema = {
  ...onKey,
  summary: 'Withdraw the invitation to a key',
  response: { 204: { description: 'The link is no longer valid', type: 'null' } },
} as const

export const acceptSchema = {
  tags: onAccount.tags,
  params: onAccount.params,
  summary: 'Accept an invitation',
  description: 'Needs no key. The answer has the new token of the key; it is shown once.',
  security: [],
  body: {
    type: 'object',
    required: ['invitation'],
    properties: { invitation: { type: 'string', maxLength: 100 }, ...knownExtras },
    examples: [{ invitation: 'cartage_...' }],
  },
  response: { 200: { description: 'The key', ...fullKey } },
} as const
