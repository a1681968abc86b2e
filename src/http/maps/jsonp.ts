import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import type { Thrown } from '../middleware/error-response.ts'
import { respondInForm } from '../middleware/error-response.ts'
import { mapErrorForm, respondWithMapError } from '../tiles/error-response.ts'
import { sendTagged, setCaching } from '../tiles/send-tile-json.ts'
import { isCallback } from './request.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parameter `callback` asks for a script. */
    hasCallback?: boolean
  }
}

export type ScriptAnswer = Readonly<{
  reader: Principal
  /** Undefined: the client has not asked for a script. */
  callback: string | undefined
  document: unknown
  /** Seconds for which the client need not ask again; undefined: it asks each time. */
  maxAge?: number | undefined
}>

/** Answers with a document, or with a script that calls a function of the page with it. */
export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  { reader, callback, document, maxAge }: ScriptAnswer,
): FastifyReply {
  if (callback === undefined) return sendTagged(request, reply, reader, document, maxAge)
  setCaching(reply, reader, maxAge)
  return sendScript(reply, callback, document)
}

function sendScript(reply: FastifyReply, callback: string, document: unknown): FastifyReply {
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
