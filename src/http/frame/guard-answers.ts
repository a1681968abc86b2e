import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** No browser may guess the type of an answer. */
export function guardAnswers(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    forbidSniffing(reply)
    done()
  })
}

/** For routes whose answers hold tokens: nobody between us and the client may keep a copy. */
export function forbidStoring(app: FastifyInstance): void {
  app.addHook('onRequest', async (_request, reply) => void reply.header('Cache-Control', 'no-store'))
}

export function forbidSniffing<Reply extends Pick<FastifyReply, 'header'>>(reply: Reply): Reply {
  reply.header('x-content-type-options', 'nosniff')
  return reply
}

/** Answers bytes that are not HTTP: there is no request, so no route and no hook sees them. */
export function refuseNonsense(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const { line, text } = refusals[error.code ?? ''] ?? nonsense
  const body = JSON.stringify({ error: [text] })
  if (socket.writable) {
    socket.write(
      `HTTP/1.1 ${line}\r\nContent-Type: application/json; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
  }
  socket.destroy(error)
}

const nonsense = { line: '400 Bad Request', text: 'This is not HTTP' }
const refusals: Record<string, typeof nonsense> = {
  HPE_HEADER_OVERFLOW: {
    line: '431 Request Header Fields Too Large',
    text: 'The headers, or the address, are too long',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { line: '408 Request Timeout', text: 'The request did not arrive in time' },
}
