import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { memberPlaces } from '../../../client/json-rows.ts'
import { type AppError, errors } from '../../../errors.ts'
import { maxParamsLength } from '../parameters.ts'
import { NotUtf8, parseForm } from './form.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route reads its body as a stream: no limits of the small bodies apply. */
    isStreaming?: boolean
    /** This member of a JSON body is handed over as its text, not read: no digit of a number is lost. */
    memberAsText?: string
    /** This member may be as long as a body; all the others together are small. */
    longMember?: string
  }
}

/** Small bodies: JSON and forms, whole, plain, in valid UTF-8, and in time. */
export function acceptBodies(app: FastifyInstance, timeoutMs: number): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    // Clients send the JSON type along with bodiless DELETEs and POSTs.
    if (body.length === 0) return done(null, undefined)
    const text = decodeUtf8(body as Buffer)?.trim()
    if (text === undefined) return done(errors.badRequest(notUtf8))
    const { memberAsText, longMember } = request.routeOptions.config ?? {}
    if (longMember !== undefined && isLongBeside(longMember, text))
      return done(errors.paramsTooLarge(maxParamsLength))
    if (memberAsText === undefined) return parseJson(request, text, done)
    const [rest, member] = cutOut(memberAsText, text)
    parseJson(request, rest, (error, body) => {
      const isGiven = !error && member !== undefined && member !== 'null'
      const whole = isGiven ? { ...(body as object), [memberAsText]: member } : body
      if (isLong(text)) setImmediate(done, error, whole)
      else done(error, whole)
    })
  })
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    (request, body, done) => {
      if (isJson(beginningOf(body as Buffer))) return done(errors.badRequest(jsonInDisguise))
      try {
        const form = parseForm(body as Buffer, request.routeOptions.config?.memberAsText)
        if (isLong(body)) setImmediate(done, null, form)
        else done(null, form)
      } catch (error) {
        done(error instanceof NotUtf8 ? errors.badRequest(notUtf8) : (error as Error))
      }
    },
  )
  app.addContentTypeParser('*', { parseAs: 'buffer' }, ({ headers }, body, done) => {
    if (body.length === 0) done(null, undefined)
    else done(errors.unsupportedMedia(whatIsWrong(headers['content-type'], beginningOf(body as Buffer))))
  })
  app.addHook('onRequest', (request, _reply, done) => done(refusalOfCompressed(request)))
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (hasBody(request) && !request.routeOptions.config?.isStreaming) {
      const timer = setTimeout(() => giveUp(request, reply), timeoutMs)
      payload.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
    }
    done()
  })
}

/** Is a body on its way? Where nobody reads one that is here already, its `end` would never come. */
function hasBody({ headers, raw }: FastifyRequest): boolean {
  return (headers['content-length'] ?? headers['transfer-encoding']) !== undefined && !raw.complete
}

/** Others get a turn before such a body is looked at once more. */
const isLong = ({ length }: string | Buffer) => length > 64 * 1024

/** Before anything is parsed, because parsing many small things takes long. */
function isLongBeside(longMember: string, text: string): boolean {
  if (text.length <= maxParamsLength) return false
  let length = 0
  for (const { name, start, end } of placesIn(text)) {
    // The second of its name is like any other.
    if (name === longMember && length === 0) length = end - start
    if (start - length > maxParamsLength) break
  }
  return text.length - length > maxParamsLength
}

/** The body with null for the member, and what stood there; of members with one name the last counts, as for the parser. */
function cutOut(member: string, text: string): [rest: string, value: string | undefined] {
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
    // A name that is not JSON. The parser will come to it, too, and tell.
  }
}

/** Answers a client that sends too slowly, if it has no answer yet, and closes the connection. */
function giveUp(request: FastifyRequest, reply: FastifyReply): void {
  // Without a route nobody reads the body: it can be complete although its stream has not ended.
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

export const notUtf8 = 'The request body is not valid UTF-8'

/** As much as is looked at in order to tell what is wrong. */
const beginningOf = (body: Buffer) => body.toString('utf8', 0, maxParamsLength + 1)

/** curl sends `-d '{...}'` with this type. A real form cannot look like JSON, because its brackets are escaped. */
const jsonInDisguise =
  'The body is JSON, but its Content-Type is application/x-www-form-urlencoded: send Content-Type: application/json'

function whatIsWrong(type: string | undefined, body: string): string {
  const found =
    type === undefined ? 'The body has no Content-Type' : `The Content-Type ${type} is not supported`
  const advice = isJson(body)
    ? 'the body is JSON, send Content-Type: application/json'
    : 'send JSON or a form, with its type'
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
