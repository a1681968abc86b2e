import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * An onSend hook. A client that is still sending its body would get a reset connection instead of an early answer. So
 * the answer is sent at once and complete, the rest of the body is discarded for a while, and then the connection is
 * closed.
 */
export function answerWhileUploading(maxBytes: number) {
  return async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    if (request.raw.complete || typeof payload !== 'string') return payload
    reply.header('Connection', 'close').header('Content-Length', Buffer.byteLength(payload))
    return Readable.from(thenDrain(request, payload, maxBytes))
  }
}

async function* thenDrain(
  { raw }: FastifyRequest,
  payload: string,
  maxBytes: number,
): AsyncGenerator<string> {
  yield payload
  const patience = new AbortController()
  const enough = () => patience.abort()
  let bytes = 0
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) enough()
  })
  raw.once('end', enough).once('close', enough).resume()
  if (raw.complete || raw.destroyed) enough()
  await sleep(maxMs, undefined, { signal: patience.signal }).catch(() => undefined)
}

const maxMs = 30_000
