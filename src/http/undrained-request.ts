import { IncomingMessage } from 'node:http'

/**
 * Is not read once more when it has come whole and empty. Node reads every request to its end once it is answered, lest the
 * rest of a body stand before the next request: for one without a body these are five turns, and a twentieth of a short
 * query. (From Node 24.12 on, the option `optimizeEmptyRequests` does the same.)
 */
export class UndrainedRequest extends IncomingMessage {
  /** Is told how many bytes of the body have come, if it wants to know. */
  onBody: ((bytes: number) => void) | undefined

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (chunk !== null) this.onBody?.(chunk.length)
    return super.push(chunk, encoding)
  }

  override resume(): this {
    return this.#isSettled ? this : super.resume()
  }

  /** Nothing can come any more, and nobody waits for the end. */
  get #isSettled(): boolean {
    if (!this.complete || this.readableLength > 0 || this.readableFlowing !== null) return false
    return this.listenerCount('end') === 0 && this.listenerCount('close') === 0
  }
}
