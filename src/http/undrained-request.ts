import { IncomingMessage } from 'node:http'
import { PartLimit } from './part-limit.ts'

/**
 * Skips draining a request that has arrived completely and has no body. Node reads every request to its end after the
 * answer, so that the rest of a body does not come before the next request: without a body this takes five turns, a
 * twentieth of a short query. (From Node 24.12 on, the option `optimizeEmptyRequests` does the same.)
 */
export class UndrainedRequest extends IncomingMessage {
  /** Called with the number of body bytes as they arrive. */
  onBody: ((bytes: number) => void) | undefined

  /** Undefined until the first bytes of a body come; null if it is not multipart. */
  #parts: PartLimit | null | undefined
  #isCutOff = false

  /** It is a multipart body of too many parts: it was closed before the read that had them, and the rest was dropped. */
  get isCutOff(): boolean {
    return this.#isCutOff
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (chunk === null) return super.push(null)
    if (this.#isCutOff) return true
    this.onBody?.(chunk.length)
    if (this.#parts === undefined) this.#parts = PartLimit.of(this) ?? null
    if (this.#parts === null || this.#parts.accepts(chunk)) return super.push(chunk, encoding)
    this.#isCutOff = true
    return super.push(this.#parts.closing)
  }

  override resume(): this {
    return this.#isSettled ? this : super.resume()
  }

  /** No more data can arrive, and there is no listener for the end. */
  get #isSettled(): boolean {
    if (!this.complete || this.readableLength > 0 || this.readableFlowing !== null) return false
    return this.listenerCount('end') === 0 && this.listenerCount('close') === 0
  }
}
