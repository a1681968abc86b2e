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
  /** Node found an Upgrade header. Without an initial value: Node's constructor sets it. */
  declare asksForUpgrade: boolean | null

  /** Undefined until the first bytes of a body come; null if it is not multipart. */
  #parts: PartLimit | null | undefined
  #isCutOff = false

  /** The request is a multipart body with too many parts, which was closed before all of it was read. */
  get isCutOff(): boolean {
    return this.#isCutOff
  }

  /**
   * Only a WebSocket of a session is one. Node would hand over the connection of every request with an Upgrade header, but
   * clients may send `Upgrade: h2c` with any request, and its body must be read.
   */
  get upgrade(): boolean | null {
    return this.asksForUpgrade && isSession(this)
  }

  set upgrade(asks: boolean | null) {
    this.asksForUpgrade = asks
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

function isSession({ headers, url, method }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && sessionPath.test(url ?? '')
}

const sessionPath = /^\/(user|u)\/[^/?]+\/api\/v4\/session\/?(\?|$)/
