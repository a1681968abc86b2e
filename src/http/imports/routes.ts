import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Account, Principal } from '../../auth/account.ts'
import type { ImportDocument } from '../../contract/documents.ts'
import { AppError, errors } from '../../errors.ts'
import type { ImportRecord } from '../../imports/import-record.ts'
import { findImport, isAtWork, listImports } from '../../imports/import-store.ts'
import { removeFolder } from '../../imports/spool.ts'
import { submitImport } from '../../imports/submit-import.ts'
import { cancelJob } from '../../jobs/cancel-job.ts'
import { findJob } from '../../jobs/job-store.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { poll } from '../../waiting/poll.ts'
import { answerWhileUploading } from '../copy/answer-while-uploading.ts'
import { holdContinue } from '../copy/expect-continue.ts'
import { locationOf } from '../middleware/address.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { credentialIn } from '../middleware/credential/request-credential.ts'
import { respondWithImportError } from '../middleware/error-response.ts'
import { readIdempotencyKey } from '../middleware/idempotency-key.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { importCaller, keyHolder } from './callers.ts'
import { importDocument } from './document.ts'
import { type Received, receive } from './receive.ts'
import { readImportId, readWait } from './request.ts'
import { cancelImportSchema, createImportSchema, listImportsSchema, readImportSchema } from './schemas.ts'
import { wantedImport } from './wanted-import.ts'

/** Imports: files that become tables, at the address of the classic service. */
export async function importsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  // The schemas only describe; the readers refuse, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  app.setErrorHandler(respondWithImportError)
  await app.register(async (scope) => createRoute(scope, services))
  app.get('/api/v1/imports', { ...reading, schema: listImportsSchema }, (request) => list(services, request))
  app.get('/api/v1/imports/:importId', { ...reading, schema: readImportSchema }, (request, reply) =>
    read(services, request, reply),
  )
  app.delete('/api/v1/imports/:importId', { ...writing, schema: cancelImportSchema }, (request) =>
    cancel(services, request),
  )
}

const reading = { config: { rateGroup: 'jobs_read' } } as const
const writing = { config: { rateGroup: 'imports' } } as const

/** In a scope of its own: here a body is a stream, whatever its type. */
async function createRoute(app: FastifyInstance, services: Services): Promise<void> {
  holdContinue(app.server, /\/api\/v1\/imports\/?$/)
  app.removeAllContentTypeParsers()
  await app.register(multipart, { throwFileSizeLimit: false })
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  app.addHook('onSend', answerWhileUploading(services.config.importMaxBytes || Number.MAX_SAFE_INTEGER))
  const config = { ...writing.config, isStreaming: true } as const
  app.post('/api/v1/imports', { config, schema: createImportSchema }, (request, reply) =>
    create(services, request, reply),
  )
}

async function create(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  let principal: Principal | undefined
  const admit = async (parameters: Parameters) => {
    request.body = parameters
    principal ??= await importCaller(services, request)
    return principal
  }
  const check = async (parameters: Parameters, name: string) => {
    await wantedImport(services, principal!, parameters, { name, bytes: 1 })
  }
  // A wrong credential is refused before the body comes.
  if (credentialIn(request).kind !== 'none') await admit({})
  const received = await receive(services, request, reply, { admit, check })
  try {
    await principal!.confirm()
    const { id, isReplay } = await submit(services, request, principal!, received)
    if (isReplay) {
      reply.header('Idempotency-Replayed', 'true')
      await dropFile(received)
    }
    return reply
      .header('Location', `${locationOf(request, services.config)}/${id}`)
      .send({ item_queue_id: id, success: true })
  } catch (error) {
    await dropFile(received)
    throw error
  }
}

const dropFile = async ({ file }: Received) => {
  if (file) await removeFolder(file.folder)
}

async function submit(
  services: Services,
  request: FastifyRequest,
  principal: Principal,
  { parameters, file }: Received,
) {
  const { source, options } = await wantedImport(services, principal, parameters, file)
  const { account, key } = principal
  const idempotencyKey = readIdempotencyKey(request)
  const upload = file && { folder: file.folder, hash: file.hash }
  return submitImport(services, { account, keyId: key.id, source, options, upload, idempotencyKey })
}

async function list(services: Services, request: FastifyRequest) {
  const { account, key } = await keyHolder(services, request)
  const isAll = (request.query as Parameters).all === 'true'
  const ofKey = key.type === 'master' ? undefined : key.id
  return { imports: await listImports(services.databases.control, account, ofKey, isAll), success: true }
}

async function read(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ImportDocument> {
  const { databases, jobWaiter } = services
  const principal = await keyHolder(services, request)
  const waitMs = readWait(request)
  const { id } = await ownImport(services, principal, request)
  if (waitMs > 0) {
    await jobWaiter.wait(principal.account, id, waitMs, clientGone(reply))
    await principal.confirm()
  }
  const job = await findJob(databases.control, principal.account, id)
  const record = await findImport(databases.control, principal.account, id)
  if (!job || !record) throw errors.importNotFound(id)
  return importDocument(principal.account, job, record)
}

async function ownImport(
  { databases }: Services,
  { account, key }: Principal,
  request: FastifyRequest,
): Promise<Readonly<{ id: string; record: ImportRecord }>> {
  const id = readImportId(request)
  const record = await findImport(databases.control, account, id)
  if (!record || (key.type !== 'master' && key.id !== record.keyId)) throw errors.importNotFound(id)
  return { id, record }
}

/** A worker sees within a second that the import was cancelled. One that was killed meanwhile says nothing more. */
async function untilLeft(
  control: Services['databases']['control'],
  account: Account,
  id: string,
): Promise<void> {
  const hasLeft = async () => ((await isAtWork(control, account, id)) ? undefined : true)
  await poll(hasLeft, { everyMs: 50, timeoutMs: leaveMs })
}

const leaveMs = 10_000

async function cancel(services: Services, request: FastifyRequest): Promise<ImportDocument> {
  const { databases, imports } = services
  const principal = await keyHolder(services, request)
  const { id, record } = await ownImport(services, principal, request)
  const job = await cancelJob(databases, principal.account, id).catch(async (error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'cancel-refused') throw error
    const ended = await findJob(databases.control, principal.account, id)
    throw ended ? errors.importFinished(ended.status === 'done' ? 'complete' : 'failed') : error
  })
  await untilLeft(databases.control, principal.account, id)
  await imports.forget(id)
  return importDocument(principal.account, job, record)
}
