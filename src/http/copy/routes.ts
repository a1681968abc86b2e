import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CopyAnswer } from '../../contract/documents.ts'
import { copyFrom } from '../../copy/copy-from.ts'
import { copyTo } from '../../copy/copy-to.ts'
import type { Loaded } from '../../copy/load/load.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { CopyDirection } from '../../sql/copy-statement.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { sqlCaller } from '../middleware/authenticate.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { clientWait } from '../middleware/download/client-wait.ts'
import { refuseRepeated } from '../middleware/idempotency-key.ts'
import { replicaReader } from '../middleware/read-from.ts'
import type { Services } from '../services.ts'
import { answerWhileUploading } from './answer-while-uploading.ts'
import { copyDocument } from './document.ts'
import { holdContinue } from './expect-continue.ts'
import { FileDownload, fileHeaders } from './file-download.ts'
import { readDownload, readUploadRequest } from './request.ts'
import { copyFromSchema, copyToByGetSchema, copyToByPostSchema } from './schemas.ts'

/** Bulk copy: COPY over HTTP, both ways. */
export async function copyRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  await app.register(async (scope) => copyFromRoute(scope, services))

  const config = { rateGroup: 'copyto' } as const
  const handler = (request: FastifyRequest, reply: FastifyReply) => download(services, request, reply)
  app.get('/api/v2/sql/copyto', { config, exposeHeadRoute: false, schema: copyToByGetSchema }, handler)
  const byPost = { config: { ...config, longMember: 'q' }, bodyLimit: maxStatementBytes }
  app.post('/api/v2/sql/copyto', { ...byPost, schema: copyToByPostSchema }, handler)
  app.head('/api/v2/sql/copyto', { config, schema: { hide: true } }, async (request, reply) => {
    await sqlCaller(services, request)
    const { headers } = readDownload(request)
    return reply.headers(fileHeaders(headers)).send()
  })
}

/** For a COPY in a body. */
const maxStatementBytes = 1024 ** 2

/** In a scope of its own: here a body is a stream, whatever its type. */
async function copyFromRoute(app: FastifyInstance, services: Services): Promise<void> {
  holdContinue(app.server, /\/api\/v2\/sql\/copyfrom\/?$/)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  app.addHook('onRequest', async ({ headers }) => {
    delete headers['content-type']
  })
  app.addHook('onSend', answerWhileUploading(services.config.copyMaxBytes))
  const config = { rateGroup: 'copyfrom', isStreaming: true } as const
  app.post('/api/v2/sql/copyfrom', { config, schema: copyFromSchema }, (request, reply) =>
    upload(services, request, reply),
  )
}

/** An upload: identifies the caller, reads the COPY, and streams the body into it. */
async function upload(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<CopyAnswer> {
  const principal = await sqlCaller(services, request)
  const load = await readUploadRequest(services.config, request, reply)
  await refuseRepeated(services, request, principal)
  let loaded: Loaded | undefined
  const { ms } = await measured(services.metrics, request, 'from', async () => {
    loaded = await copyFrom(services.copies, principal, load)
    return loaded.rows
  })
  return copyDocument(loaded!, ms)
}

/** A download: identifies the caller, reads the COPY, and streams its data into the response. */
async function download(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const principal = await sqlCaller(services, request)
  const { statement, headers } = readDownload(request)
  const reader = replicaReader(reply, principal)
  await refuseRepeated(services, request, principal)
  const wait = clientWait(reply.raw, services.config.copyIdleMs)
  const file = new FileDownload(request, reply, headers)
  const target = { open: () => file.open(), wait, gone: clientGone(reply), reader }
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

async function measured(
  metrics: Metrics,
  { raw }: FastifyRequest,
  direction: CopyDirection,
  copy: () => Promise<number>,
): Promise<{ rows: number; ms: number }> {
  const startedAt = performance.now()
  const { socket } = raw
  const transferred = () => (direction === 'from' ? socket.bytesRead : socket.bytesWritten)
  // The beginning of a body arrives with the headers.
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
