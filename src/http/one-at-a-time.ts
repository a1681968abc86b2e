import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { noteAnswer } from './middleware/guard-answers.ts'
import type { OneWriteResponse } from './one-write-response.ts'

/**
 * Starts one request of a connection at a time. With pipelining Node would start all of them, but does not report for a
 * queued response that the client has gone or is slow. Waiting requests keep their order; while more than a few wait,
 * the connection is not read, so that the rest stay with the client.
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
  // Node would answer 417 by itself, even to expectations that may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

function wait(socket: Socket, response: OneWriteResponse, timeoutMs: number, begin: () => void): void {
  const waiting = waitingOn.get(socket) ?? { count: 0, endLimit: () => undefined }
  waitingOn.set(socket, waiting)
  waiting.count += 1
  if (waiting.count === mostWaiting) process.nextTick(stopReading, socket, waiting, timeoutMs)
  response.onAttached = () => {
    waiting.count -= 1
    if (waiting.count === 0) goOnReading(socket, waiting)
    // In its own turn: a thousand short ones must not run all at once.
    setImmediate(() => {
      if (!socket.destroyed) begin()
    })
  }
}

type WaitingRequests = { count: number; endLimit: () => void }

/** While a socket is not read it does not report that the client has gone: so this has a time limit. */
function stopReading(socket: Socket, waiting: WaitingRequests, timeoutMs: number): void {
  if (waiting.count === 0 || socket.destroyed) return
  socket.pause()
  waiting.endLimit = destroyAfter(socket, timeoutMs)
}

function goOnReading(socket: Socket, waiting: WaitingRequests): void {
  waiting.endLimit()
  if (socket.isPaused()) socket.resume()
}

const waitingOn = new WeakMap<Socket, WaitingRequests>()
const mostWaiting = 16

/** After an early answer the rest of the body is discarded, with a time limit. */
function endSlowBody(request: IncomingMessage, response: ServerResponse, timeoutMs: number): void {
  const { headers, socket } = request
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
  response.once('finish', () => {
    if (request.complete || socket.destroyed) return
    request.once('close', destroyAfter(socket, timeoutMs))
  })
}

/** Returns what ends the time limit and removes its listener: a connection may have many requests. */
function destroyAfter(socket: Socket, timeoutMs: number): () => void {
  const limit = setTimeout(() => socket.destroy(), timeoutMs)
  const end = () => {
    clearTimeout(limit)
    socket.off('close', end)
  }
  socket.once('close', end)
  return end
}
