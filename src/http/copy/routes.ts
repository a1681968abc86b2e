import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { copyFrom } from '../../copy/copy-from.ts'
import { copyTo } from '../../copy/copy-to.ts'
import type { Upload } from '../../copy/upload.ts'
import { tooLarge } from '../../copy/upload-pump.ts'
import { errors } from '../../errors.ts'
import type { Metrics } from '../../metrics.ts'
import { type CopyDirection, type CopyStatement, parseCopy } from '../../sql/copy-statement.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { sqlCaller } from '../frame/authenticate.ts'
import { clientGone } from '../frame/client-gone.ts'
import { contentDisposition } from '../frame/content-disposition.ts'
import type { Services } from '../services.ts'
import { answerWhileUploading } from './answer-while-uploading.ts'
import { clientWait } from './client-wait.ts'
import { readContentEncoding } from './content-encoding.ts'
import { holdContinue, sendContinue } from './expect-continue.ts'
import { FileDownload, type FileHeaders, fileHeaders } from './file-download.ts'
import { copyFromSchema, copyToByGetSchema, copyToByPostSchema } from './schemas.ts'

/** Bulk copy: COPY over HTTP, both ways. */
export async function copyRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  // The schemas describe; what is wrong is told in the words of this API.
  app.setValidatorCompiler(() => () => true)
  await app.register(copyFromRoute, services)

  const handler = (request: FastifyRequest, reply: FastifyReply) => download(services, request, reply)
  app.get('/api/v2/sql/copyto', { exposeHeadRoute: false, schema: copyToByGetSchema }, handler)
  app.post('/api/v2/sql/copyto', { schema: copyToByPostSchema }, handler)
  app.head('/api/v2/sql/copyto', { schema: { hide: true } }, async (request, reply) => {
    const { headers } = await readDownload(services, request)
    return reply.headers(fileHeaders(headers)).send()
  })
}

/** In a scope of its own: here a body is a stream, whatever its type says. */
async function copyFromRoute(app: FastifyInstance, services: Services): Promise<void> {
  holdContinue(app.server, /\/api\/v2\/sql\/copyfrom\/?$/)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  app.addHook('onRequest', async ({ headers }) => {
    delete headers['content-type']
  })
  app.addHook('onSend', answerWhileUploading(services.config.copyMaxBytes))
  app.post(
    '/api/v2/sql/copyfrom',
    { config: { isStreaming: true }, schema: copyFromSchema },
    (request, reply) => upload(services, request, reply),
  )
}

async function upload(services: Services, request: FastifyRequest, reply: FastifyReply) {
  const principal = await sqlCaller(services, request)
  const statement = readStatement((request.query as Parameters).q, 'from')
  const source = uploadOf(services, request, reply)
  const { rows, ms } = await measured(services.metrics, request, 'from', () =>
    copyFrom(services.copies, principal, statement, source),
  )
  return { time: ms / 1000, total_rows: rows }
}

function uploadOf({ config }: Services, request: FastifyRequest, reply: FastifyReply): Upload {
  if (Number(request.headers['content-length']) > config.copyMaxBytes) throw tooLarge(config.copyMaxBytes)
  return {
    body: request.raw,
    encoding: readContentEncoding(request.headers['content-encoding']),
    begin: () => sendContinue(reply.raw),
    isComplete: () => request.raw.complete,
    wait: clientWait(reply.raw, config.copyIdleMs),
    gone: clientGone(reply),
  }
}

async function download(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { principal, statement, headers } = await readDownload(services, request)
  const wait = clientWait(reply.raw, services.config.copyIdleMs)
  const file = new FileDownload(request, reply, headers)
  const target = { open: () => file.open(), wait, gone: clientGone(reply) }
  try {
    await measured(services.metrics, request, 'to', async () => {
      const rows = await copyTo(services.copies, principal, statement, target)
      await file.end(rows, wait)
      return rows
    })
  } catch (error) {
    if (!file.isOpen) throw error
    request.log.info({ err: error }, 'copyto broke off')
    file.break()
  }
}

async function readDownload(services: Services, request: FastifyRequest) {
  const principal = await sqlCaller(services, request)
  const { q, filename } = parametersOf(request)
  const statement = readStatement(q, 'to')
  const headers: FileHeaders = {
    type: statement.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/octet-stream',
    disposition: contentDisposition(readFilename(filename)),
  }
  return { principal, statement, headers }
}

type Parameters = Readonly<Record<string, unknown>>

function parametersOf({ query, body }: FastifyRequest): Parameters {
  if (body === undefined || body === null) return query as Parameters
  if (typeof body !== 'object' || Array.isArray(body)) {
    throw errors.badRequest('The body must be an object with the parameters')
  }
  if (Object.hasOwn(query as Parameters, 'q') && Object.hasOwn(body, 'q')) throw twice('q')
  return { ...(query as Parameters), ...body }
}

function readStatement(q: unknown, direction: CopyDirection): CopyStatement {
  if (Array.isArray(q)) throw twice('q')
  const statement = parseCopy(typeof q === 'string' ? q : '', direction)
  if (statement.ok) return statement
  if (statement.code === 'unavailable') throw errors.parserUnavailable()
  throw errors.copyRefused(statement.message, statement.position)
}

function readFilename(filename: unknown): string {
  if (Array.isArray(filename)) throw twice('filename')
  return typeof filename === 'string' && filename !== '' ? filename : 'carto-sql-copyto.dmp'
}

const twice = (name: string) => errors.badRequest(`The parameter ${name} is given more than once`)

async function measured(
  metrics: Metrics,
  { raw }: FastifyRequest,
  direction: CopyDirection,
  copy: () => Promise<number>,
): Promise<{ rows: number; ms: number }> {
  const startedAt = performance.now()
  const { socket } = raw
  const transferred = () => (direction === 'from' ? socket.bytesRead : socket.bytesWritten)
  // The beginning of a body comes with the headers.
  const before = transferred() - (direction === 'from' ? raw.readableLength : 0)
  const finish = (isComplete: boolean, rows: number) => {
    const ms = Math.round(performance.now() - startedAt)
    metrics.copyFinished({ direction, isComplete, bytes: transferred() - before, rows, ms })
    return { rows, ms }
  }
  try {
    return finish(true, await copy())
  } catch (error) {
    finish(false, 0)
    throw error
  }
}
