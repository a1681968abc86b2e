import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Thrown } from '../middleware/error-response.ts'
import { respondInForm } from '../middleware/error-response.ts'
import { mapErrorForm, respondWithMapError } from '../tiles/error-response.ts'
import { isCallback } from './request.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parameter `callback` asks for a script. */
    hasCallback?: boolean
  }
}

/** Calls a function of the page that has asked by a script element. */
export function sendScript(reply: FastifyReply, callback: string, document: unknown): FastifyReply {
  // A script may not have these two inside a text.
  const text = JSON.stringify(document).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
  return reply
    .code(200)
    .header('content-type', 'text/javascript; charset=utf-8')
    .send(`/**/${callback}(${text});`)
}

/** A script element reads only what is 200. */
export function respondByScript(thrown: Thrown, request: FastifyRequest, reply: FastifyReply): void {
  const { callback } = request.query as { callback?: unknown }
  if (!request.routeOptions.config.hasCallback || !isCallback(callback))
    respondWithMapError(thrown, request, reply)
  else
    respondInForm(thrown, request, reply, mapErrorForm(request), (_, body) =>
      sendScript(reply, callback, body),
    )
}
