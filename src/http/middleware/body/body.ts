import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isJsonObject } from '../../../contract/text/json-object.ts'
import { memberPlaces } from '../../../contract/text/json-rows.ts'
import { type AppError, errors } from '../../../errors.ts'
import { nextTurn } from '../../../waiting/next-turn.ts'
import { maxParamsLength } from '../parameters.ts'
import { type Form, NotUtf8, parseForm } from './form.ts'
import { placeholder, shortenForm, shortenJson } from './long-member.ts'
import { containsNul, noteFreeOfNul } from './refuse-nul.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route reads its body as a stream: limits of small bodies do not apply. */
    isStreaming?: boolean
    /** This member of a JSON body is passed on as text, without parsing: no digit of a number is lost. */
    memberAsText?: string
    /** The text of a JSON body is kept beside it, for members whose digits count. */
    keepsText?: boolean
    /** This member may be as long as a body; the others together must be small. */
    longMember?: string
    /** All members together may be as long as a body. */
    isLongBody?: boolean
  }
}

/** Small bodies: JSON and forms, complete, uncompressed, in valid UTF-8, and in time. */
export function acceptBodies(app: FastifyInstance, timeoutMs: number): void {
  const parseJson = app.getDefaultJsonParser('error', 'error') as ParseJson
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    // Clients send the JSON type with DELETEs and POSTs without a body.
    if (body.length === 0) return done(null, undefined)
    const read = (bytes: Buffer) => readJson(request, bytes, parseJson)
    readBody(request, body as Buffer, { shorten: shortenJson, read, mostBytes: maxParamsLength }, done)
  })
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    (request, body, done) => {
      if (isJson(beginningOf(body as Buffer))) return done(errors.badRequest(jsonInDisguise))
      const read = (bytes: Buffer) => readForm(request, bytes)
      // An escaped character takes three bytes.
      readBody(request, body as Buffer, { shorten: shortenForm, read, mostBytes: 3 * maxParamsLength }, done)
    },
  )
  app.addContentTypeParser('*', { parseAs: 'buffer' }, ({ headers }, body, done) => {
    if (body.length === 0) done(null, undefined)
    else done(errors.unsupportedMedia(whatIsWrong(headers['content-type'], beginningOf(body as Buffer))))
  })
  app.addHook('onRequest', (request, _reply, done) => done(refusalOfCompressed(request)))
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (hasBody(request) && !request.routeOptions.config?.isStreaming) {
      // After a process stood still, its timers run before it reads what has arrived meanwhile.
      const timer = setTimeout(() => setImmediate(giveUp, request, reply), timeoutMs)
      payload.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
    }
    done()
  })
}

type Done = (error: Error | null, body?: unknown) => void
type ParseJson = (request: FastifyRequest, text: string, done: Done) => void

/** How bodies of one type are read. `mostBytes`: limit of everything but the long member. */
type Reader = Readonly<{
  shorten: typeof shortenJson
  read: (bytes: Buffer) => unknown
  mostBytes: number
}>

/** Reads a short body at once. In a long one, where only one member may be long, reads that member in steps. */
function readBody(request: FastifyRequest, bytes: Buffer, reader: Reader, done: Done): void {
  if (bytes.length > maxParamsLength) {
    readLongBody(request, bytes, reader).then((body) => done(null, body), done)
    return
  }
  try {
    const body = reader.read(bytes)
    // Lets other requests run before such a body is processed further.
    if (bytes.length > longBytes) setImmediate(done, null, body)
    else done(null, body)
  } catch (error) {
    done(error as Error)
  }
}

async function readLongBody(
  { routeOptions }: FastifyRequest,
  bytes: Buffer,
  { shorten, read, mostBytes }: Reader,
): Promise<unknown> {
  const name = routeOptions.config?.longMember
  await nextTurn()
  const { rest, long } = name === undefined ? { rest: bytes } : await shorten(bytes, name, mostBytes)
  if (rest.length > mostBytes && !routeOptions.config?.isLongBody)
    throw errors.paramsTooLarge(maxParamsLength)
  await nextTurn()
  const body = read(rest)
  // If several members have this name, another one may count.
  if (!long || !isJsonObject(body) || body[name!] !== placeholder) return body
  const text = await long().catch(refuseText)
  if (text.includes('\0')) throw containsNul()
  ;(body as Record<string, unknown>)[name!] = text
  return body
}

const longBytes = 64 * 1024

function refuseText(error: unknown): never {
  throw error instanceof SyntaxError ? errors.badRequest(notJson) : errors.badRequest(notUtf8)
}

function readJson(request: FastifyRequest, bytes: Buffer, parseJson: ParseJson): unknown {
  const text = decodeUtf8(bytes)?.trim()
  if (text === undefined) throw errors.badRequest(notUtf8)
  const { memberAsText, keepsText } = request.routeOptions.config ?? {}
  const [rest, member] = memberAsText === undefined ? [text] : cutOut(memberAsText, text)
  const body = parsed(request, rest, parseJson)
  if (member !== undefined && member !== 'null') (body as Record<string, unknown>)[memberAsText!] = member
  if (keepsText && isJsonObject(body)) texts.set(body, text)
  // JSON has no other way to write NUL.
  if (!text.includes('\\u0000')) noteFreeOfNul(body)
  return body
}

const texts = new WeakMap<object, string>()

/** The text of a JSON body, on a route that keeps it; undefined for a form. */
export const textOfBody = (body: object) => texts.get(body)

function parsed(request: FastifyRequest, text: string, parseJson: ParseJson): unknown {
  let outcome: { error: Error | null; body: unknown } | undefined
  parseJson(request, text, (error, body) => {
    outcome = { error, body }
  })
  if (outcome?.error) throw outcome.error
  return outcome?.body
}

function readForm({ routeOptions }: FastifyRequest, bytes: Buffer): unknown {
  try {
    const form = parseForm(bytes, routeOptions.config?.memberAsText)
    if (
      bytes.length > maxParamsLength &&
      lengthOf(form) > maxParamsLength &&
      !routeOptions.config?.isLongBody
    )
      throw errors.paramsTooLarge(maxParamsLength)
    return form
  } catch (error) {
    throw error instanceof NotUtf8 ? errors.badRequest(notUtf8) : error
  }
}

function lengthOf(form: Form): number {
  let length = 0
  for (const [name, value] of Object.entries(form))
    for (const each of [value].flat()) length += name.length + each.length
  return length
}

/** True if a body is still arriving. If it has arrived and is not read, its `end` would never fire. */
function hasBody({ headers, raw }: FastifyRequest): boolean {
  return (headers['content-length'] ?? headers['transfer-encoding']) !== undefined && !raw.complete
}

/**
 * The body with null for the member, and the member's text; of members with one name the last counts, as for the
 * parser.
 */
export function cutOut(member: string, text: string): [rest: string, value: string | undefined] {
  let rest = ''
  let value: string | undefined
  let at = 0
  for (const { name, start, end } of placesIn(text)) {
    if (name !== member) continue
    rest += `${text.slice(at, start)}null`
    value = text.slice(start, end)
    at = end
  }
  return [rest + text.slice(at), value]
}

function* placesIn(text: string): ReturnType<typeof memberPlaces> {
  try {
    if (text.startsWith('{')) yield* memberPlaces(text)
  } catch {
    // A name that is not JSON: the parser will report it.
  }
}

/** Answers a client that sends too slowly, unless it was answered already, and closes the connection. */
function giveUp(request: FastifyRequest, reply: FastifyReply): void {
  // Without a route the body is not read: it can be complete although its stream has not ended.
  if (request.raw.complete) return
  if (reply.sent) return void request.raw.destroy()
  reply.raw.once('finish', () => request.raw.destroy())
  reply.header('Connection', 'close').send(errors.clientTooSlow())
}

function refusalOfCompressed(request: FastifyRequest): AppError | undefined {
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || encoding === 'identity' || request.routeOptions.config?.isStreaming)
    return undefined
  return errors.unsupportedMedia(`Content-Encoding ${JSON.stringify(encoding)} is not supported here`)
}

/** Fastify's own words. */
const notJson = "Body is not valid JSON but content-type is set to 'application/json'"
export const notUtf8 = 'The request body is not valid UTF-8'

/** The part that is examined to tell what is wrong. */
const beginningOf = (body: Buffer) => body.toString('utf8', 0, maxParamsLength + 1)

/** curl sends `-d '{...}'` with this type. A real form cannot look like JSON, because its brackets are escaped. */
const jsonInDisguise =
  'The body is JSON, but its Content-Type is application/x-www-form-urlencoded: send Content-Type: application/json'

function whatIsWrong(type: string | undefined, body: string): string {
  const found =
    type === undefined ? 'The body has no Content-Type' : `The Content-Type ${type} is not supported`
  const advice = isJson(body)
    ? 'the body is JSON, send Content-Type: application/json'
    : 'send JSON or a form, with the matching Content-Type'
  return `${found}: ${advice}`
}

function isJson(text: string): boolean {
  if (text.length > maxParamsLength || !/^\s*[{[]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return undefined
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })
