import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** The response past Fastify, with the headers of the reply and others. They are sent with the first bytes. */
export function hijacked(reply: FastifyReply, others: Readonly<Record<string, string>> = {}): ServerResponse {
  const response = reply.hijack().raw
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...others }))
    if (value !== undefined) response.setHeader(name, value)
  return response
}

/**
 * Breaks off a started answer, so that no client takes the part for the whole. Without chunked encoding only a reset
 * shows it.
 */
export function breakOff({ socket, chunkedEncoding }: ServerResponse): void {
  if (chunkedEncoding) socket?.destroy()
  else socket?.resetAndDestroy()
}
