import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import { isJsonObject } from '../../contract/text/json-object.ts'
import { AppError, errors } from '../../errors.ts'
import { removeFolder, uploadedFile } from '../../imports/spool.ts'
import { sendContinue } from '../copy/expect-continue.ts'
import { parseForm } from '../middleware/body/form.ts'
import { requireNoNul } from '../middleware/body/refuse-nul.ts'
import { filenameOf, maxParamsLength, type Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { Stall } from './stall.ts'
import { StandingWatch } from './standing-watch.ts'

/** What a request brought: its parameters, and perhaps a file, which lies in a folder of its own. */
export type Received = Readonly<{ parameters: Parameters; file?: ReceivedFile | undefined }>
export type ReceivedFile = Readonly<{ folder: string; name: string; bytes: number; hash: string }>

/**
 * Reads the body. `admit` is called before anything is stored, with the parameters so far: they may hold the
 * credential. If it fails, or the body does, nothing stays.
 */
export async function receive(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { admit, check }: Gate,
): Promise<Received> {
  const query = request.query as Parameters
  if (request.headers['content-encoding'] !== undefined)
    throw errors.unsupportedMedia('Content-Encoding is not supported here: send a .gz or .zip file as it is')
  const stall = new Stall(request, reply, services.config.copyIdleMs)
  const intake = new Intake(services, stall)
  try {
    if (request.isMultipart()) return await readParts(request, reply, intake, query, admit)
    const name = filenameOf(query)
    if (name !== undefined && name !== '') {
      const principal = await admit(query)
      await check(query, name)
      sendContinue(reply.raw)
      await intake.store(request.raw, name, principal)
      if (!request.raw.complete) throw errors.bodyIncomplete()
      return { parameters: query, file: intake.file }
    }
    sendContinue(reply.raw)
    const parameters = { ...query, ...(await readSmall(request, stall)) }
    await admit(parameters)
    return { parameters }
  } catch (error) {
    await intake.drop()
    throw stall.reason ?? error
  } finally {
    stall.end()
  }
}

type Gate = Readonly<{
  /** Throws unless the caller may import. */
  admit: (parameters: Parameters) => Promise<Principal>
  /** Throws if a file of this name cannot be imported with these parameters, before the file comes. */
  check: (parameters: Parameters, name: string) => Promise<void>
}>

async function readParts(
  request: FastifyRequest,
  reply: FastifyReply,
  intake: Intake,
  query: Parameters,
  admit: Gate['admit'],
): Promise<Received> {
  let parameters: Parameters = { ...query }
  sendContinue(reply.raw)
  const limits = { fields: 100, files: 2, fieldSize: maxParamsLength, fileSize: Number.MAX_SAFE_INTEGER }
  try {
    for await (const part of request.parts({ limits })) {
      if (part.type === 'field') {
        if (part.valueTruncated) throw errors.paramsTooLarge(maxParamsLength)
        parameters = { ...parameters, ...requireNoNul({ [part.fieldname]: part.value }) }
        continue
      }
      if (part.fieldname !== 'file' && part.fieldname !== 'filename')
        throw errors.importInvalid(`The file must be in the part file, not in ${part.fieldname}`)
      if (intake.file) throw errors.importInvalid('Send one file')
      const principal = await admit(parameters)
      await intake.store(part.file, requireNoNul(part.filename) || 'upload', principal)
    }
  } catch (error) {
    const { code, statusCode } = error as { code?: string; statusCode?: number }
    if (error instanceof AppError || statusCode !== undefined) throw error
    if (code === 'FST_FILES_LIMIT') throw errors.importInvalid('Send one file')
    throw request.raw.complete
      ? errors.badRequest(`The multipart body cannot be read: ${(error as Error).message}`)
      : errors.bodyIncomplete()
  }
  if (!request.raw.complete) throw errors.bodyIncomplete()
  if (!intake.file) await admit(parameters)
  return { parameters, file: intake.file }
}

/** Stores a file as it arrives. */
class Intake {
  readonly #services: Services
  readonly #stall: Stall
  #folder: string | undefined
  file: ReceivedFile | undefined

  constructor(services: Services, stall: Stall) {
    this.#services = services
    this.#stall = stall
  }

  async store(body: Readable, name: string, principal: Principal): Promise<void> {
    const { imports, config } = this.#services
    const folder = await (await imports.spool()).newUpload()
    this.#folder = folder
    const hash = createHash('sha256')
    const standing = new StandingWatch(principal)
    const target = await open(join(folder, uploadedFile), 'wx', 0o600)
    let bytes = 0
    try {
      for await (const chunk of this.#stall.watch(body) as AsyncIterable<Buffer>) {
        standing.check()
        bytes += chunk.length
        if (config.importMaxBytes > 0 && bytes > config.importMaxBytes)
          throw errors.importTooLarge(config.importMaxBytes)
        hash.update(chunk)
        await this.#stall.paused(() => target.write(chunk))
      }
      await target.datasync()
    } finally {
      await target.close()
    }
    this.file = { folder, name, bytes, hash: hash.digest('hex') }
  }

  async drop(): Promise<void> {
    if (this.#folder !== undefined) await removeFolder(this.#folder)
  }
}

async function readSmall({ raw, headers }: FastifyRequest, stall: Stall): Promise<Parameters> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stall.watch(raw) as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxParamsLength) throw errors.bodyTooLarge(maxParamsLength)
  }
  if (length === 0) return {}
  const bytes = Buffer.concat(chunks)
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-www-form-urlencoded') return requireNoNul(parseForm(bytes) as Parameters)
  if (type === 'application/json') return readJson(bytes)
  throw errors.unsupportedMedia(
    'Send a multipart body with a part file, or name the file of a raw body in filename',
  )
}

function readJson(bytes: Buffer): Parameters {
  const text = bytes.toString('utf8')
  const body = isUtf8(bytes) ? parsed(text) : undefined
  if (body === undefined) throw errors.badRequest('The body is not valid JSON in UTF-8')
  if (!isJsonObject(body)) throw errors.badRequest('The body must be an object with the parameters')
  // JSON has no other way to write NUL, and searching takes as long as parsing.
  return text.includes('\\u0000') ? requireNoNul(body) : body
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
