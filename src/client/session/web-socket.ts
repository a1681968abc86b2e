/** What a session needs of a WebSocket: that of browsers, or of the package `ws`. */
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
