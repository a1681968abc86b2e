import type { FastifyReply } from 'fastify'
import { errors } from '../../errors.ts'

/**
 * Fires when the client leaves before it has the whole answer. (Fastify's own `request.signal` also fires when the
 * body has been read.)
 */
export function clientGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort(errors.clientLeft())
  })
  // It may have left before this was called.
  if (reply.raw.destroyed) gone.abort(errors.clientLeft())
  return gone.signal
}
