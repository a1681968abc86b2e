import { type Credential, readCredential } from '../../auth/credential.ts'
import { formats } from '../../contract/formats.ts'
import { type FrameId, maxFrameIdLength } from '../../contract/session-frames.ts'
import { isJsonObject, unknownMember } from '../../contract/text/json-object.ts'
import { type AppError, errors } from '../../errors.ts'
import type { SessionQuery } from '../../sessions/run-statement.ts'
import { nextTurn } from '../../waiting/next-turn.ts'
import { cutOut } from '../middleware/body/body.ts'
import { placeholder, shortenJson } from '../middleware/body/long-member.ts'
import { containsNul } from '../middleware/body/refuse-nul.ts'
import { maxParamsLength, type Parameters } from '../middleware/parameters.ts'
import { choiceInAnyCase, paramsOf, sqlOf } from '../query/request.ts'

/** A message of a client, checked. */
export type ReadMessage =
  | Readonly<{ type: 'open'; credential: Credential }>
  | Readonly<{ type: 'query'; query: SessionQuery }>
  | Readonly<{ type: 'cancel'; id: FrameId | undefined }>

/** Thrown with the id of the message, where it has one, so that the client knows which of its messages is meant. */
export class BadMessage extends Error {
  readonly id: FrameId | undefined
  override readonly cause: AppError

  constructor(cause: AppError, id?: FrameId) {
    super(cause.message)
    this.cause = cause
    this.id = id
  }
}

/** Reads a message, a long one in steps. `params` keep the digits of their numbers. */
export async function readMessage(bytes: Buffer): Promise<ReadMessage> {
  const members = bytes.length > maxParamsLength ? await readLong(bytes) : parse(bytes)
  const id = idOf(members)
  try {
    return messageOf(members, id)
  } catch (error) {
    throw new BadMessage(error as AppError, id)
  }
}

function messageOf(members: Parameters, id: FrameId | undefined): ReadMessage {
  const { type } = members
  if (typeof type !== 'string' || !Object.hasOwn(known, type))
    throw errors.badRequest(`The type of a message must be one of ${Object.keys(known).join(', ')}`)
  const unknown = unknownMember(members, known[type]!)
  if (unknown !== undefined) throw errors.badRequest(`A message of type ${type} has no member '${unknown}'`)
  if (type === 'open') return { type, credential: credentialOf(members) }
  if (type === 'cancel') return { type, id }
  if (id === undefined) throw errors.badRequest('A query needs an id: a text or a number')
  return { type: 'query', query: queryOf(members, id) }
}

const known: Readonly<Record<string, readonly string[]>> = {
  open: ['type', 'token', 'username'],
  query: ['type', 'id', 'q', 'params', 'format'],
  cancel: ['type', 'id'],
}

function credentialOf({ token, username }: Parameters): Credential {
  const credential = readCredential({ authorization: undefined, query: { api_key: token ?? '' } })
  if (credential.kind !== 'token' || username === undefined) return credential
  const isName = typeof username === 'string' && !username.includes('\0')
  return isName ? { ...credential, username } : { kind: 'malformed' }
}

function queryOf(members: Parameters, id: FrameId): SessionQuery {
  const sql = sqlOf(members)
  if (sql.includes('\0')) throw containsNul()
  return {
    id,
    sql,
    params: paramsOf(members),
    format: choiceInAnyCase(members, 'format', formats) ?? 'json',
  }
}

function idOf({ id }: Parameters): FrameId | undefined {
  if (id === undefined) return undefined
  const isId = typeof id === 'string' || typeof id === 'number'
  if (isId && JSON.stringify(id).length <= maxFrameIdLength) return id
  throw new BadMessage(
    errors.badRequest(`The id must be a text or a number of at most ${maxFrameIdLength} characters`),
  )
}

async function readLong(bytes: Buffer): Promise<Parameters> {
  const { rest, long } = await shortenJson(bytes, 'q', maxParamsLength)
  if (rest.length > maxParamsLength) throw new BadMessage(errors.paramsTooLarge(maxParamsLength))
  await nextTurn()
  const members = parse(rest)
  // If several members have this name, another one may count.
  if (!long || members.q !== placeholder) return members
  const q = await long().catch(() => {
    throw notJson()
  })
  return { ...members, q }
}

function parse(bytes: Buffer): Parameters {
  try {
    const [rest, params] = cutOut('params', bytes.toString('utf8').trim())
    const members: unknown = JSON.parse(rest)
    if (!isJsonObject(members)) throw notJson()
    return params === undefined || params === 'null' ? members : { ...members, params }
  } catch {
    throw notJson()
  }
}

const notJson = () => new BadMessage(errors.badRequest('A message must be a JSON object'))
