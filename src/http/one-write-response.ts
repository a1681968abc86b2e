import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Sends a text or short body in one write, at once. Node joins the head with it, but `end` corks the socket and adds an empty
 * write to learn when all is written: a list of two buffers, to be encoded and joined again. (`write` alone waits for
 * the next turn, unless its caller corks the socket.)
 */
export class OneWriteResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  /** Called when the earlier responses of its connection have been sent, unless it was the first. */
  onAttached: (() => void) | undefined

  override assignSocket(socket: Socket): void {
    super.assignSocket(socket)
    // Seven belong to a pipeline alone, and Node warns of more than ten.
    this.setMaxListeners(20)
    this.onAttached?.()
  }

  override end(body?: unknown, encoding?: unknown, done?: () => void): this {
    if (typeof encoding === 'function' || !this.#isReady)
      return super.end(body, encoding as BufferEncoding, done)
    if (Buffer.isBuffer(body) && body.length < shortBytes)
      return this.end(body.toString('latin1'), 'latin1', done)
    if (typeof body !== 'string') return super.end(body, encoding as BufferEncoding, done)
    this.socket?.cork()
    this.write(body, encoding as BufferEncoding)
    this.socket?.uncork()
    return super.end(done)
  }

  /** The head is complete, so that Node need not count the body first, and the response has not ended. */
  get #isReady(): boolean {
    return this.headersSent && !this.chunkedEncoding && !this.writableEnded
  }
}

/** Bytes that are joined with the head sooner than they are written beside it. */
const shortBytes = 16 * 1024
