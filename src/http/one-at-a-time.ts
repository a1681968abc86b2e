import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { noteAnswer } from './middleware/guard-answers.ts'
import type { OneWriteResponse } from './one-write-response.ts'

/**
 * Begins one request of a connection at a time. Node would begin all that a client has sent, and of a response whose turn has
 * not come it tells nothing: neither that the client has gone nor that it is slow. Those that wait keep their order; the
 * connection is not read while there are more than a few of them, so that the rest wait with the client.
 */
export function oneAtATime(server: Server, timeoutMs: number): void {
  const [begin] = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  server.on('request', (request: IncomingMessage, response: OneWriteResponse) => {
    noteAnswer(request.socket, response)
    endSlowBody(request, response, timeoutMs)
    if (response.socket) begin!(request, response)
    else wait(request.socket, response, timeoutMs, () => begin!(request, response))
  })
  // Node answers 417 by itself, for what it may ignore as well.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

function wait(socket: Socket, response: OneWriteResponse, timeoutMs: number, begin: () => void): void {
  const waiting = waitingOn.get(socket) ?? { count: 0, limit: undefined }
  waitingOn.set(socket, waiting)
  waiting.count += 1
  if (waiting.count === mostWaiting) process.nextTick(stopReading, socket, waiting, timeoutMs)
  response.onAttached = () => {
    waiting.count -= 1
    if (waiting.count === 0) goOnReading(socket, waiting)
    // In a turn of its own: a thousand short ones must not come all at once.
    setImmediate(() => {
      if (!socket.destroyed) begin()
    })
  }
}

type Waiting = { count: number; limit: NodeJS.Timeout | undefined }

/** What is not read does not tell either that the client has gone: so there is an end to it. */
function stopReading(socket: Socket, waiting: Waiting, timeoutMs: number): void {
  if (waiting.count === 0 || socket.destroyed) return
  socket.pause()
  waiting.limit = setTimeout(() => socket.destroy(), timeoutMs)
  socket.once('close', () => clearTimeout(waiting.limit))
}

function goOnReading(socket: Socket, waiting: Waiting): void {
  clearTimeout(waiting.limit)
  if (socket.isPaused()) socket.resume()
}

const waitingOn = new WeakMap<Socket, Waiting>()
const mostWaiting = 16

/** Of a request that was answered before its body was there the rest is thrown away, but not for ever. */
function endSlowBody(request: IncomingMessage, response: ServerResponse, timeoutMs: number): void {
  const { headers, socket } = request
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
  response.once('finish', () => {
    if (request.complete || socket.destroyed) return
    const limit = setTimeout(() => socket.destroy(), timeoutMs)
    request.once('close', () => clearTimeout(limit))
    socket.once('close', () => clearTimeout(limit))
  })
}
