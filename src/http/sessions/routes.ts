import websocket from '@fastify/websocket'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { error } from '../middleware/schemas.ts'
import type { Services } from '../services.ts'
import { SessionSocket } from './session-socket.ts'

/** Sessions of accounts, on both prefixes: the library listens once per server. */
export async function sessionRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  const { queryMaxBodyBytes: maxPayload } = services.config
  await app.register(websocket, {
    options: { maxPayload, perMessageDeflate: false },
    // Such as a message that is too large or not UTF-8: the library closes the socket with a code that says so.
    errorHandler: (error, _socket, request) => request.log.debug({ err: error }, 'WebSocket failed'),
    // Without waiting: the server does not accept connections meanwhile, and waits for these to close.
    preClose: (done) => {
      void services.sessions.stop().then(() => closeAll(app))
      done()
    },
  })
  for (const prefix of ['/user/:name', '/u/:name']) {
    await app.register(async (scope) => sessionRoute(scope, services), { prefix })
  }
}

/** Closes the sockets that are left at the end: those that have not sent a token yet. */
function closeAll(app: FastifyInstance): void {
  for (const client of app.websocketServer.clients) client.close(goingAway)
}

const goingAway = 1001

async function sessionRoute(app: FastifyInstance, services: Services): Promise<void> {
  app.route({
    method: 'GET',
    url: '/api/v4/session',
    exposeHeadRoute: false,
    schema: sessionSchema,
    preHandler: async (request, reply) => {
      refuseToken(request)
      // For log and metrics: the library answers by itself.
      if (request.ws) reply.raw.statusCode = 101
    },
    handler: async () => {
      throw errors.badRequest('This address is a WebSocket: see docs/sessions.md')
    },
    wsHandler: (socket, request) => {
      new SessionSocket(services, app.bodyBudget, socket, request)
    },
  })
}

/** An address is written to logs and histories on its way. */
function refuseToken({ query }: FastifyRequest): void {
  const { api_key: apiKey, map_key: mapKey } = query as Readonly<Record<string, unknown>>
  if (apiKey === undefined && mapKey === undefined) return
  throw errors.badRequest('The token must come in the first message, not in the address')
}

const sessionSchema = {
  tags: ['sql'],
  summary: 'Open a session: a WebSocket for many statements',
  description:
    'A WebSocket whose statements share one PostgreSQL session as the role of the key, with its transactions and settings. The token comes in the first message, never in the address. docs/sessions.md describes the messages, which are JSON texts.',
  response: {
    101: { description: 'The connection is a WebSocket now.', type: 'null' },
    400: { description: 'The request asks for no WebSocket, or has a token in its address.', ...error },
  },
}
