import type { WebSocketClass } from '../session/web-socket.ts'

/** How requests travel: over node:http in Node, by fetch in browsers. */
export type Transport = Readonly<{
  /** Answers as soon as the headers are there, whatever the status. Throws ConnectionLost if there is no answer. */
  exchange: (request: HttpRequest) => Promise<HttpResponse>
  /** Browsers send a request a second time by themselves, when a connection that they had kept breaks before the answer. */
  sendsAgain: boolean
  /** For sessions. */
  webSocket: () => Promise<WebSocketClass>
  /** Closes the connections that rest. */
  close: () => void
}>

export type HttpRequest = Readonly<{
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body?: Body | undefined
  /** Called with the progress of the request body. */
  onProgress?: ((progress: Progress) => void) | undefined
  signal?: AbortSignal | undefined
}>

export type HttpResponse = Readonly<{
  status: number
  header: (name: string) => string | undefined
  /** Can be read once; leaving the loop ends the request. */
  body: AsyncIterable<Uint8Array>
}>

/** What can be sent: a stream of Node is an async iterable too. */
export type Body = string | Uint8Array | Blob | AsyncIterable<string | Uint8Array>

/** How many bytes have gone; of how many, where that is known. */
export type Progress = Readonly<{ bytes: number; total?: number }>

/** Can it be sent a second time? */
export function isReplayable(body: Body | undefined): boolean {
  return body === undefined || typeof body === 'string' || body instanceof Uint8Array || body instanceof Blob
}

/** Only the cause tells more, and only in Node. */
export class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('The connection was lost', { cause })
  }
}
