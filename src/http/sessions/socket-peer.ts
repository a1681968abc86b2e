import type { WebSocket } from '@fastify/websocket'
import type { Peer } from '../../sessions/frame-sink.ts'

export type SocketPeerOptions = Readonly<{
  pingMs: number
  /** A peer that takes nothing for this time is cut. */
  stallMs: number
  /** The peer does not read, or does not answer pings: its socket was closed. */
  onDead: () => void
}>

/** A client on a WebSocket. Limits what waits for a client that does not read, and notices one that is gone. */
export class SocketPeer implements Peer {
  readonly #socket: WebSocket
  readonly #options: SocketPeerOptions
  readonly #pings: NodeJS.Timeout
  #stall: NodeJS.Timeout | undefined
  #unsent = 0
  /** For frames without a waiting writer. */
  #smallBytes = 0
  #isAnswering = true

  constructor(socket: WebSocket, options: SocketPeerOptions) {
    this.#socket = socket
    this.#options = options
    this.#pings = setInterval(() => this.#ping(), options.pingMs)
    socket.on('pong', () => this.noteLife())
    // Each ping of the client is answered by the library.
    socket.on('ping', () => socket.bufferedAmount > maxSmallBytes && this.#cut())
    socket.on('close', () => this.#stop())
  }

  /** Something came from the client. */
  noteLife(): void {
    this.#isAnswering = true
  }

  readonly send = (frame: string | Buffer, isBinary: boolean, sent?: () => void): void => {
    if (this.#socket.readyState !== this.#socket.OPEN) {
      sent?.()
      return
    }
    const smallBytes = sent ? 0 : frame.length
    this.#unsent += 1
    this.#smallBytes += smallBytes
    this.#stall ??= setTimeout(() => this.#cut(), this.#options.stallMs)
    this.#socket.send(frame, { binary: isBinary, compress: false }, () => {
      this.#unsent -= 1
      this.#smallBytes -= smallBytes
      if (this.#unsent > 0) this.#stall?.refresh()
      else this.#endStall()
      sent?.()
    })
    if (this.#smallBytes > maxSmallBytes) this.#cut()
  }

  readonly close = (code: number): void => {
    this.#socket.close(code)
    // The client should answer with a close of its own.
    setTimeout(() => this.#socket.terminate(), closeMs).unref()
  }

  /** While it has something to read, it may not see a ping: then only the time of its reading is limited. */
  #ping(): void {
    if (this.#unsent > 0) return
    if (!this.#isAnswering) {
      this.#cut()
      return
    }
    this.#isAnswering = false
    this.#socket.ping()
  }

  #cut(): void {
    this.#stop()
    this.#socket.terminate()
    this.#options.onDead()
  }

  #stop(): void {
    clearInterval(this.#pings)
    this.#endStall()
  }

  #endStall(): void {
    clearTimeout(this.#stall)
    this.#stall = undefined
  }
}

/** More than the notices of a statement, which are limited to 1 MB. */
const maxSmallBytes = 8 * 1024 ** 2

const closeMs = 3_000
