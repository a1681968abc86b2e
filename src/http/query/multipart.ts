import type { FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import { givenTwice, type Parameters } from '../frame/parameters.ts'

/** The fields of a multipart body. */
export async function readFields(request: FastifyRequest, maxBytes: number): Promise<Parameters> {
  const fields: Record<string, unknown> = Object.create(null)
  let bytes = 0
  for await (const part of partsOf(request, maxBytes)) {
    if (part.type === 'file') throw errors.badRequest('A file has no meaning here: send the query as a field')
    const value = String(part.value)
    bytes += Buffer.byteLength(value)
    if (bytes > maxBytes || part.valueTruncated) throw errors.bodyTooLarge(maxBytes)
    if (part.fieldname in fields) throw givenTwice(part.fieldname)
    fields[part.fieldname] = value
  }
  return fields
}

/** Makes a 400 of what the parser throws. It never ends at a part without a name, so there is a time limit. */
async function* partsOf(request: FastifyRequest, maxBytes: number) {
  const parts = request.parts({ limits: { fieldSize: maxBytes } })
  const stuck = new Promise<never>((_resolve, reject) => {
    request.raw.once('end', () => setTimeout(() => reject(new Error('a part has no name')), stuckMs).unref())
  })
  stuck.catch(() => undefined)
  try {
    for (;;) {
      const { value, done } = await Promise.race([parts.next(), stuck])
      if (done) return
      yield value
    }
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode !== undefined) throw error
    throw errors.badRequest(`The multipart body cannot be read: ${(error as Error).message}`)
  }
}

/** All of the body has been given to the parser by then. */
const stuckMs = 1_000
