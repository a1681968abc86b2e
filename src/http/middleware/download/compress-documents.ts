import type { FastifyInstance } from 'fastify'
import { chooseEncoding, encodeWhole, smallBytes } from '../content-encoding.ts'

/** Compresses the JSON answers of these routes as those of the SQL endpoint. Not for routes that answer with secrets. */
export function compressDocuments(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string') return payload
    reply.header('vary', 'Accept-Encoding')
    if (Buffer.byteLength(payload) < smallBytes) return payload
    const encoding = chooseEncoding(request.headers['accept-encoding'])
    if (encoding === null) return payload
    reply.header('content-encoding', encoding).removeHeader('content-length')
    return encodeWhole(Buffer.from(payload), encoding)
  })
}
