/** What a session needs of a WebSocket: that of browsers, of Node from 22 on, or of the package `ws`. */
export type WebSocketLike = {
  binaryType: string
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  send(data: string): void
  close(code?: number): void
  /** Only `ws` has these: it can hold back the service, and close at once. */
  pause?(): void
  resume?(): void
  terminate?(): void
}

export type WebSocketClass = new (address: string) => WebSocketLike

export function requireWebSocket(given: WebSocketClass | undefined): WebSocketClass {
  const found = given ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket
  if (found) return found
  throw new TypeError(
    'A session needs a WebSocket, which Node has from version 22 on: pass the class of the package ws as `WebSocket` to createClient',
  )
}
