import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  type RequestOptions,
  request as sendPlain,
} from 'node:http'
import { Agent as SecureAgent, request as sendSecure } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { WebSocketClass } from '../session/web-socket.ts'
import {
  type Body,
  ConnectionLost,
  type HttpRequest,
  type HttpResponse,
  type Transport,
} from './transport.ts'

/** There is no limit of time, because a copy may take hours: use the signal. (fetch has limits of its own in Node.) */
export function nodeTransport(baseUrl: string): Transport {
  const isSecure = new URL(baseUrl).protocol === 'https:'
  const agent = new (isSecure ? SecureAgent : PlainAgent)({ keepAlive: true })
  const start = isSecure ? sendSecure : sendPlain
  return {
    exchange: (request) =>
      exchange((options, onResponse) => start(request.url, options, onResponse), agent, request),
    sendsAgain: false,
    // Loaded when it is needed. Node has a WebSocket of its own from version 22 on, which cannot hold back the service.
    webSocket: async () => (await import('ws')).WebSocket as WebSocketClass,
    close: () => agent.destroy(),
  }
}

type StartRequest = (
  options: RequestOptions,
  onResponse: (response: IncomingMessage) => void,
) => ClientRequest

function exchange(start: StartRequest, agent: PlainAgent, request: HttpRequest): Promise<HttpResponse> {
  const { method, headers, body, signal } = request
  const length = lengthOf(body)
  const options: RequestOptions = {
    method,
    agent,
    headers: { ...headers, ...(length === undefined ? {} : { 'content-length': length }) },
    ...(signal ? { signal } : {}),
  }
  return new Promise((resolve, reject) => {
    const source = streamOf(body)
    const outgoing = start(options, (response) => {
      // Refused early: there is no use in sending the rest.
      if (source && response.statusCode! >= 300) response.once('end', () => source.destroy())
      resolve(responseOf(response))
    })
    const fail = (error: unknown) => reject(error === source?.errored ? error : new ConnectionLost(error))
    outgoing.on('error', fail)
    if (source) {
      report(source, length, request.onProgress)
      // An early answer ends the upload; it is the answer that counts then.
      pipeline(source, outgoing).catch(fail)
    } else outgoing.end(body)
  })
}

function responseOf(response: IncomingMessage): HttpResponse {
  return {
    status: response.statusCode!,
    header: (name) => response.headers[name] as string | undefined,
    body: response,
  }
}

function lengthOf(body: Body | undefined): number | undefined {
  if (typeof body === 'string') return Buffer.byteLength(body)
  if (body instanceof Uint8Array) return body.length
  return body instanceof Blob ? body.size : undefined
}

function streamOf(body: Body | undefined): Readable | undefined {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return undefined
  if (body instanceof Readable) return body
  return Readable.from(body instanceof Blob ? body.stream() : body)
}

function report(source: Readable, total: number | undefined, onProgress: HttpRequest['onProgress']): void {
  if (!onProgress) return
  let bytes = 0
  source.on('data', (chunk: string | Uint8Array) => {
    bytes += Buffer.byteLength(chunk)
    onProgress(total === undefined ? { bytes } : { bytes, total })
  })
}
