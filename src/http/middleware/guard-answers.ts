import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { breakOff } from './download/raw-answer.ts'

/** Keeps browsers from guessing the type of an answer, and clients from mistaking one answer for another. */
export function guardAnswers(app: FastifyInstance): void {
  // By default Node keeps the first 1000 headers and drops the rest, perhaps an Idempotency-Key. Their total size is
  // limited.
  app.server.maxHeadersCount = 0
  app.addHook('onRequest', (_request, reply, done) => {
    forbidSniffing(reply)
    done()
  })
  closeWithLastAnswers(app)
}

/**
 * When the server stops, Node closes idle connections. It would keep a busy one open for the next request, and wait for
 * the first request of an unused one.
 */
function closeWithLastAnswers(app: FastifyInstance): void {
  const connections = new Set<Socket>()
  app.server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  app.addHook('preClose', (done) => {
    for (const socket of connections) {
      for (const answer of owedOn(socket)) closeAfter(answer)
      if (socket.bytesRead === 0) socket.destroy()
    }
    done()
  })
}

/** For routes whose answers contain tokens: no proxy or cache may keep a copy. */
export function forbidStoring(app: FastifyInstance): void {
  app.addHook('onRequest', async (_request, reply) => void reply.header('Cache-Control', 'no-store'))
}

export function forbidSniffing<Reply extends Pick<FastifyReply, 'header'>>(reply: Reply): Reply {
  reply.header('x-content-type-options', 'nosniff')
  return reply
}

/**
 * Answers bytes that are not HTTP: there is no request, so no route and no hook sees them. If they follow a whole
 * request that is not answered yet, the client would take this for that answer, and consider a completed request
 * refused. So that request is answered first, and then the connection is closed.
 */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const answers = owedOn(socket)
  const lastWhole = answers.findLast(({ req }) => req.complete)
  const begun = answers.find(({ headersSent }) => headersSent)
  if (lastWhole) closeAfter(lastWhole)
  else if (begun) breakOff(begun)
  else refuse(error, socket)
}

function closeAfter(answer: ServerResponse): void {
  if (closing.has(answer)) return
  closing.add(answer)
  answer.shouldKeepAlive = false
  answer.once('close', () => answer.req.socket.destroySoon())
}

function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writable) socket.write(refusalOf(error))
  socket.destroy(error)
}

function refusalOf({ code = '' }: NodeJS.ErrnoException): string {
  const { line, text } = refusals[code] ?? notHttp
  const body = JSON.stringify({ error: [text] })
  return `HTTP/1.1 ${line}\r\nContent-Type: application/json; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
}

/** Records the answers that a client waits for. Without listeners, which would take some percent of a short request. */
export function noteAnswer(socket: Socket, answer: ServerResponse): void {
  const answers = answersOn.get(socket)
  if (!answers) answersOn.set(socket, [answer])
  else {
    while (answers[0]?.closed) answers.shift()
    answers.push(answer)
  }
}

/** The answers that a client waits for. With pipelining there may be several; they are sent in this order. */
const owedOn = (socket: Socket) => (answersOn.get(socket) ?? []).filter(({ closed }) => !closed)

const answersOn = new WeakMap<Socket, ServerResponse[]>()

/** Answers after which the connection is closed. */
const closing = new WeakSet<ServerResponse>()

const notHttp = { line: '400 Bad Request', text: 'This is not HTTP' }
const refusals: Record<string, typeof notHttp> = {
  HPE_HEADER_OVERFLOW: {
    line: '431 Request Header Fields Too Large',
    text: 'The headers or the URL are too long',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { line: '408 Request Timeout', text: 'The request did not arrive in time' },
}
