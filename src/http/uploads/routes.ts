import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import type { Config } from '../../config/config.ts'
import { errors } from '../../errors.ts'
import { type HeldUpload, holdToCancel, holdUpload } from '../../imports/resumable/held-upload.ts'
import { settleLoad } from '../../imports/resumable/load-flight.ts'
import { checksumAlgorithms } from '../../imports/resumable/upload-part.ts'
import {
  deleteUpload,
  findUpload,
  insertUpload,
  type UploadLimits,
  type UploadRecord,
} from '../../imports/resumable/upload-store.ts'
import { removeFolder, type Spool } from '../../imports/spool.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { userDataSize } from '../../usage/user-data-size.ts'
import { answerWhileUploading } from '../copy/answer-while-uploading.ts'
import { holdContinue } from '../copy/expect-continue.ts'
import { readStoredLoad } from '../copy/request.ts'
import { importCaller, keyHolder } from '../imports/callers.ts'
import { wantedImport } from '../imports/wanted-import.ts'
import { locationOf } from '../middleware/address.ts'
import type { Services } from '../services.ts'
import { refusalOf, stateOf, type UploadDocument, uploadDocument } from './document.ts'
import { finish, hasImport } from './finish.ts'
import { receivePart } from './receive-part.ts'
import {
  metadataOf,
  readLength,
  readPart,
  readUploadId,
  readWish,
  requireVersion,
  type SentPart,
  tusVersion,
  type UploadWish,
} from './request.ts'
import {
  appendToUploadSchema,
  createUploadSchema,
  deleteUploadSchema,
  readUploadSchema,
  showUploadSchema,
} from './schemas.ts'

/** Resumable uploads, after the protocol tus 1.0. Each becomes an import, or the rows of a copyfrom. */
export async function uploadsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  // The schemas only describe; the readers refuse, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  holdContinue(app.server, /\/api\/v4\/uploads\/[^/]+\/?$/)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  app.addHook('onRequest', async ({ method }, reply) => {
    reply.header('Tus-Resumable', tusVersion)
    if (method === 'OPTIONS') return
    reply.header('Cache-Control', 'no-store')
  })
  app.addHook('onSend', answerWhileUploading(services.config.importMaxBytes || Number.MAX_SAFE_INTEGER))

  const all = '/api/v4/uploads'
  const one = '/api/v4/uploads/:uploadId'
  for (const path of [all, one])
    app.options(path, { ...pieces, schema: { hide: true } }, (_request, reply) =>
      describe(services.config, reply),
    )
  app.post(all, { ...whole, schema: createUploadSchema }, (request, reply) =>
    create(services, request, reply),
  )
  const reading = { config: { ...pieces.config, isHeadDescribed: true } }
  app.head(one, { ...reading, schema: readUploadSchema }, (request, reply) => read(services, request, reply))
  app.get(one, { ...pieces, exposeHeadRoute: false, schema: showUploadSchema }, (request) =>
    show(services, request),
  )
  app.patch(one, { ...pieces, schema: appendToUploadSchema }, (request, reply) =>
    append(services, request, reply),
  )
  app.delete(one, { ...whole, schema: deleteUploadSchema }, (request, reply) =>
    terminate(services, request, reply),
  )
  // For clients that cannot send the other methods.
  app.post(one, { ...pieces, schema: { hide: true } }, (request, reply) => {
    const method = request.headers['x-http-method-override']
    if (method === 'PATCH') return append(services, request, reply)
    if (method === 'DELETE') return terminate(services, request, reply)
    throw errors.methodNotAllowed('POST')
  })
}

const whole = { config: { rateGroup: 'imports', isStreaming: true } } as const
/** The number of requests of an upload depends on the client. */
const pieces = { config: { rateGroup: 'jobs_read', isStreaming: true } } as const

function describe({ importMaxBytes }: Config, reply: FastifyReply): FastifyReply {
  if (importMaxBytes > 0) reply.header('Tus-Max-Size', importMaxBytes)
  return reply
    .code(204)
    .headers({
      'Tus-Version': tusVersion,
      'Tus-Extension': 'creation,termination,checksum,expiration',
      'Tus-Checksum-Algorithm': checksumAlgorithms.join(','),
    })
    .send()
}

async function create(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { config, databases, imports } = services
  const principal = await keyHolder(services, request)
  checkVersion(request, reply)
  const length = readLength(request)
  const metadata = metadataOf(request)
  await checkWish(services, request, principal, readWish(metadata), length)
  const limits = await limitsOf(services, principal)
  const spool = await imports.spool()
  const id = randomUUID()
  const folder = await spool.newResumable(id)
  try {
    const made = await insertUpload(
      databases.control,
      principal,
      { id, spool: spool.id, length, metadata },
      limits,
    )
    if ('beyond' in made)
      throw made.beyond === 'count'
        ? errors.tooManyUploads(config.uploadsPerUser)
        : errors.uploadOverQuota(length, made.left)
    return reply
      .code(201)
      .headers({ Location: `${locationOf(request, config)}/${id}`, ...expiry(made) })
      .send()
  } catch (error) {
    await removeFolder(folder)
    throw error
  }
}

/** What would be refused at the end is refused before the file comes. */
async function checkWish(
  services: Services,
  request: FastifyRequest,
  principal: Principal,
  { kind, filename, parameters }: UploadWish,
  length: number,
): Promise<void> {
  const { importMaxBytes, copyMaxBytes } = services.config
  const maxBytes = kind === 'import' ? importMaxBytes : copyMaxBytes
  if (maxBytes > 0 && length > maxBytes) throw errors.importTooLarge(maxBytes)
  if (kind === 'copyfrom') return void readStoredLoad(parameters)
  await importCaller(services, request)
  await wantedImport(services, principal, parameters, { name: filename, bytes: length })
}

/** An upload counts as what its user stores. */
async function limitsOf({ config, databases }: Services, { account }: Principal): Promise<UploadLimits> {
  const count = config.uploadsPerUser
  if (account.quotaBytes === 0) return { count, bytes: Number.POSITIVE_INFINITY }
  return { count, bytes: account.quotaBytes - (await userDataSize(databases, account)) }
}

const expiry = ({ expiresAt }: Readonly<{ expiresAt: Date }>) => ({
  'Upload-Expires': expiresAt.toUTCString(),
})

async function read(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const principal = await keyHolder(services, request)
  checkVersion(request, reply)
  const record = await settled(services, await ownUpload(services, principal, request))
  if (record.metadata !== '') reply.header('Upload-Metadata', record.metadata)
  if (record.state === 'done') showImport(services, request, reply, record)
  if (record.refusal) reply.header('Upload-Error', record.refusal.code)
  return reply
    .headers({ ...progressOf(record), 'Upload-Length': record.length, 'Upload-State': stateOf(record) })
    .send()
}

async function show(services: Services, request: FastifyRequest): Promise<UploadDocument> {
  const principal = await keyHolder(services, request)
  const found = await ownUpload(services, principal, request)
  // Unlike HEAD of the protocol, this does not end a request that is sending.
  const record = found.state === 'loading' ? await settled(services, found) : found
  return uploadDocument(record, importPath(services, request, record))
}

/** A client that asks has given up its earlier request, whose last bytes may not be counted yet. */
async function settled(services: Services, found: UploadRecord): Promise<UploadRecord> {
  const isAsked = found.state === 'open' ? found.isLocked : found.state === 'loading' && !found.isLocked
  if (!isAsked) return found
  const held = await holdUpload(services.databases.control, found)
  if (!held) return found
  try {
    return await settleHeld(services, held)
  } finally {
    await held.release()
  }
}

/** Asks PostgreSQL for the outcome of a load that lost its request. A load that still runs is ended. */
async function settleHeld(services: Services, held: HeldUpload): Promise<UploadRecord> {
  const record = { ...held.record, isLocked: false }
  if (record.state !== 'loading') return record
  const outcome = await settleLoad(services.databases, record)
  if (outcome === 'unknown') return record
  if (outcome === 'not-stored') {
    const refusal = refusalOf(errors.uploadNotLoaded())
    if (!(await held.refuse(refusal))) throw errors.uploadLocked()
    return { ...record, state: 'open', answer: null, refusal }
  }
  await held.finish()
  await removeFile(services, record)
  return { ...record, state: 'done', received: record.length, refusal: null }
}

/** On another machine the sweep there removes it. */
async function removeFile({ imports }: Services, { id, spool: wanted }: UploadRecord): Promise<void> {
  const spool = await imports.spool()
  if (spool.id === wanted) await removeFolder(spool.resumableOf(id))
}

const progressOf = (record: UploadRecord) => ({ 'Upload-Offset': record.received, ...expiry(record) })

/** Takes bytes. The last bytes create the import or store the rows. */
async function append(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const principal = await keyHolder(services, request)
  checkVersion(request, reply)
  const part = readPart(request)
  const found = await ownUpload(services, principal, request)
  if (found.state === 'done') return answerLast(services, request, reply, found, part)
  const spool = await spoolOf(services, found)
  const held = await holdUpload(services.databases.control, found)
  if (!held) throw errors.uploadLocked()
  let appended: UploadRecord
  try {
    appended = await appendHeld(services, { principal, request, reply, held, spool }, part)
  } finally {
    // Before the answer: a client may ask at once how much is there.
    await held.release()
  }
  if (appended.state === 'done') return answerLast(services, request, reply, appended, part)
  return reply.code(204).headers(progressOf(appended)).send()
}

type Appending = Readonly<{
  principal: Principal
  request: FastifyRequest
  reply: FastifyReply
  held: HeldUpload
  spool: Spool
}>

/** Returns the upload after the request. */
async function appendHeld(services: Services, appending: Appending, part: SentPart): Promise<UploadRecord> {
  const { principal, request, reply, held, spool } = appending
  const record = await settleHeld(services, held)
  if (record.state === 'done') return record
  if (record.state === 'loading') throw errors.uploadOutcomeUnknown()
  checkOffset(reply, record, part)
  if (!(await hasImport(services, principal, record))) {
    await spool.takeBack(record.id)
    const idleMs = services.config.copyIdleMs
    const received = await receivePart({ principal, request, reply, held, spool, idleMs }, part)
    if (received < record.length) return { ...record, received }
    await principal.confirm()
  }
  const answer = (await finish(services, principal, held, spool)) ?? null
  return { ...record, received: record.length, state: 'done', answer }
}

/** The last request of an upload. Sent again as its answer was lost, it gets the same answer. */
function answerLast(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  record: UploadRecord,
  { offset, bytes }: SentPart,
): FastifyReply {
  if (offset + (bytes ?? record.length - offset) !== record.length) checkOffset(reply, record, { offset })
  reply.header('Upload-Offset', record.length)
  if (record.answer) return reply.code(200).send(record.answer)
  showImport(services, request, reply, record)
  return reply.code(204).send()
}

function showImport(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  record: UploadRecord,
): void {
  const path = importPath(services, request, record)
  if (path !== undefined) reply.header('Location', path)
}

/** Undefined: it becomes no import. */
function importPath(
  { config }: Services,
  request: FastifyRequest,
  { id, metadata }: UploadRecord,
): string | undefined {
  if (readWish(metadata).kind !== 'import') return undefined
  return locationOf(request, config).replace(/\/api\/v4\/uploads\/.*$/, `/api/v1/imports/${id}`)
}

function checkOffset(
  reply: FastifyReply,
  { received }: UploadRecord,
  { offset }: Pick<SentPart, 'offset'>,
): void {
  if (offset === received) return
  reply.header('Upload-Offset', received)
  throw errors.uploadOffsetWrong(received)
}

/** What it has become stays. A load that runs is ended, and stores nothing. */
async function terminate(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { control } = services.databases
  const principal = await keyHolder(services, request)
  checkVersion(request, reply)
  const record = await ownUpload(services, principal, request)
  const held = await holdToCancel(control, record)
  if (!held) throw errors.uploadLocked()
  try {
    const { state } = await settleHeld(services, held)
    if (state === 'loading') throw errors.uploadOutcomeUnknown()
    if (state === 'done' && held.record.state === 'loading') throw errors.uploadStored()
    await deleteUpload(control, record.id)
    await removeFile(services, record)
  } finally {
    await held.release()
  }
  return reply.code(204).send()
}

function checkVersion(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('Tus-Version', tusVersion)
  requireVersion(request)
  reply.removeHeader('Tus-Version')
}

async function ownUpload(
  { databases }: Services,
  principal: Principal,
  request: FastifyRequest,
): Promise<UploadRecord> {
  const found = await findUpload(databases.control, principal, readUploadId(request))
  if (!found) throw errors.uploadNotFound()
  return found
}

async function spoolOf({ imports }: Services, { spool: wanted }: UploadRecord): Promise<Spool> {
  const spool = await imports.spool()
  if (spool.id !== wanted) throw errors.uploadElsewhere()
  return spool
}
