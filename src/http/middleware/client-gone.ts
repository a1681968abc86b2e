import type { FastifyReply } from 'fastify'
import { errors } from '../../errors.ts'
import { type AbortLike, Interruption } from '../../postgres/pools/interruption.ts'

/**
 * Fires when the client leaves before it has the whole answer. (Fastify's own `request.signal` also fires when the body
 * has been read.)
 */
export function clientGone({ raw }: FastifyReply): AbortLike {
  const gone = new Interruption()
  raw.on('close', () => {
    if (!raw.writableFinished) gone.tell(errors.clientLeft())
  })
  // The client may have left before this was called.
  if (raw.destroyed) gone.tell(errors.clientLeft())
  return gone
}
