import type { FastifyReply } from 'fastify'
import { errors } from '../../errors.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'

/**
 * Fires when the client leaves before it has the whole answer. (Fastify's own `request.signal` also fires when the body
 * has been read.)
 */
export function clientGone({ raw }: FastifyReply): AbortLike {
  const gone = new ClientGone()
  raw.on('close', () => {
    if (!raw.writableFinished) gone.tell()
  })
  // It may have left before this was called.
  if (raw.destroyed) gone.tell()
  return gone
}

/** Every query has one, and hardly any fires: creating and watching an AbortSignal would take 5 % of a short query. */
class ClientGone implements AbortLike {
  aborted = false
  reason: unknown
  // One at a time: first the wait for a connection, then the statement.
  readonly #listeners: (() => void)[] = []

  tell(): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = errors.clientLeft()
    for (const listener of [...this.#listeners]) listener()
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const place = this.#listeners.indexOf(listener)
    if (place >= 0) this.#listeners.splice(place, 1)
  }
}
