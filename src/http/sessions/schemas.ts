import { error } from '../middleware/schemas.ts'

export const sessionSchema = {
  tags: ['sql'],
  summary: 'Open a session: a WebSocket for many statements',
  description:
    'A WebSocket whose statements share one PostgreSQL session as the role of the key, with its transactions and settings. The token comes in the first message, never in the address. docs/sessions.md describes the messages, which are JSON texts.',
  response: {
    101: { description: 'The connection is a WebSocket now.', type: 'null' },
    400: { description: 'The request asks for no WebSocket, or has a token in its address.', ...error },
  },
}
