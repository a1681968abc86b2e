import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import { answerQuery } from '../../query/answer-query.ts'
import { type Format, type Parameters, type Query, readQuery } from '../../query/read-query.ts'
import { TypeNames } from '../../query/type-names.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { sqlCaller } from '../frame/authenticate.ts'
import { clientGone } from '../frame/client-gone.ts'
import { contentDisposition } from '../frame/content-disposition.ts'
import type { Services } from '../services.ts'
import { queryByGetSchema, queryByPostSchema } from './schemas.ts'

/** The SQL endpoint: one request's SQL, answered at once. */
export async function queryRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { config, databases } = services
  const context = { databases, typeNames: new TypeNames(), limitMs: config.queryTimeoutMs }
  const maxBytes = config.queryMaxBodyBytes
  await loadGrammar()
  await app.register(multipart)
  // The schemas describe; readQuery checks, in the words of this API.
  app.setValidatorCompiler(() => () => true)
  // Early, because the fields may hold the credential.
  app.addHook('preValidation', async (request) => {
    if (request.isMultipart()) request.body = await readFields(request, maxBytes)
  })

  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const principal = await sqlCaller(services, request)
    const query = readQuery(parametersOf(request))
    const answer = await answerQuery(context, principal, query, clientGone(reply))
    return reply.headers(headersOf(query)).send(answer)
  }
  app.get('/api/v2/sql', { exposeHeadRoute: false, schema: queryByGetSchema }, handler)
  app.post('/api/v2/sql', { bodyLimit: maxBytes, schema: queryByPostSchema }, handler)
}

/** Query string and body together; the query itself may stand in one of them only. */
function parametersOf(request: FastifyRequest): Parameters {
  const query = request.query as Parameters
  const { body } = request
  if (body === undefined || body === null) return query
  if (typeof body !== 'object' || Array.isArray(body)) {
    throw errors.badRequest('The body must be an object with the parameters')
  }
  if ('q' in query && 'q' in body) throw errors.badRequest('The parameter q is given more than once')
  return { ...query, ...body }
}

async function readFields(request: FastifyRequest, maxBytes: number): Promise<Parameters> {
  const fields: Record<string, unknown> = Object.create(null)
  let bytes = 0
  for await (const part of partsOf(request, maxBytes)) {
    if (part.type === 'file') throw errors.badRequest('A file has no meaning here: send the query as a field')
    const value = String(part.value)
    bytes += Buffer.byteLength(value)
    if (bytes > maxBytes || part.valueTruncated) throw errors.bodyTooLarge(maxBytes)
    if (part.fieldname in fields) {
      throw errors.badRequest(`The parameter ${part.fieldname} is given more than once`)
    }
    fields[part.fieldname] = value
  }
  return fields
}

/** What the parser says of a body that is none has no status of its own, and of a part without a name it says nothing. */
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

function headersOf({ format, filename }: Query): Record<string, string> {
  const headers = { 'Content-Type': contentTypes[format] }
  if (filename === undefined && format !== 'csv') return headers
  const name = filename ?? 'cartodb-query'
  const extension = `.${format}`
  const file = name.toLowerCase().endsWith(extension) ? name : name + extension
  return { ...headers, 'Content-Disposition': contentDisposition(file) }
}

const contentTypes: Record<Format, string> = {
  json: 'application/json; charset=utf-8',
  geojson: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
}
