import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { AppError, errors } from '../../errors.ts'
import { notUtf8 } from '../middleware/body/body.ts'
import { longText } from '../middleware/body/long-member.ts'
import { givenTwice, maxParamsLength, type Parameters } from '../middleware/parameters.ts'
import { mostParts } from '../part-limit.ts'
import { UndrainedRequest } from '../undrained-request.ts'

type Limits = Readonly<{ maxBytes: number; memberAsText: string; longMember: string }>

/**
 * The fields of a multipart body. As in a form, invalid UTF-8 becomes U+FFFD, except in the field `memberAsText`, and
 * all but the first `longMember` must be small.
 */
export async function readFields(
  request: FastifyRequest,
  { maxBytes, memberAsText, longMember }: Limits,
): Promise<Parameters> {
  const fields: Record<string, unknown> = Object.create(null)
  let length = 0
  let beside = 0
  for await (const { name, isFile, bytes, isTruncated } of partsOf(request, maxBytes)) {
    if (isFile) throw errors.badRequest('Files are not accepted here: send the query as a field')
    length += bytes.length
    if (length > maxBytes || isTruncated) throw errors.bodyTooLarge(maxBytes)
    if (name in fields) throw givenTwice(name)
    beside += name.length + (name === longMember ? 0 : bytes.length)
    if (beside > maxParamsLength) throw errors.paramsTooLarge(maxParamsLength)
    if (name === memberAsText && !isUtf8(bytes)) throw errors.badRequest(notUtf8)
    fields[name] = await longText(bytes)
  }
  return fields
}

type FormPart = Readonly<{ name: string; isFile: boolean; bytes: Buffer; isTruncated: boolean }>

/** Turns the parser's errors into a 400. The parser never ends at a part without a name, so there is a time limit. */
async function* partsOf(request: FastifyRequest, maxBytes: number): AsyncGenerator<FormPart> {
  // A file is returned as bytes. A field would be decoded according to its own part's headers.
  const limits = { fileSize: maxBytes, parts: mostParts, headerPairs: mostParts }
  const parts = request.files({ limits, isPartAFile: () => true })
  const stuck = new Promise<never>((_resolve, reject) => {
    request.raw.once('end', () => setTimeout(() => reject(new Error('a part has no name')), stuckMs).unref())
  })
  stuck.catch(() => undefined)
  try {
    for (;;) {
      const { value: part, done } = await Promise.race([parts.next(), stuck])
      if (request.raw instanceof UndrainedRequest && request.raw.isCutOff) throw tooManyParts()
      if (done) return
      const bytes = await Promise.race([part.toBuffer(), stuck])
      const isFile = part.filename !== undefined
      yield { name: part.fieldname, isFile, bytes, isTruncated: part.file.truncated }
    }
  } catch (error) {
    const { code, statusCode } = error as { code?: string; statusCode?: number }
    if (code === 'FST_PARTS_LIMIT') throw tooManyParts()
    if (statusCode !== undefined || error instanceof AppError) throw error
    throw errors.badRequest(`The multipart body cannot be read: ${(error as Error).message}`)
  }
}

const tooManyParts = () => errors.badRequest(`A multipart body may have at most ${mostParts} parts`)

/** By then the parser has the whole body. */
const stuckMs = 1_000
