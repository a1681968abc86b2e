import type { FastifyRequest } from 'fastify'
import type { Credential } from '../../auth/credential.ts'
import type { HistoryOutcome } from '../../contract/documents.ts'
import { defaultToken } from '../../contract/key-names.ts'
import {
  defaultHistoryPage,
  historyOutcomes,
  maxHistoryCode,
  maxHistoryNumber,
  maxHistoryPage,
  maxHistorySearch,
  maxHistoryText,
} from '../../contract/limits.ts'
import { beginningOf } from '../../contract/text/format.ts'
import { isJsonObject, unknownMember } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import type { HistoryEntry } from '../../history/history-store.ts'
import { isUuid, type Parameters, textOf, wholeOf, withoutEmpty } from '../middleware/parameters.ts'
import { knownExtras } from '../middleware/schemas.ts'

export type WantedHistory = Readonly<{
  key: string | undefined
  search: string | undefined
  before: number | undefined
  limit: number
}>

export function readWantedHistory(request: FastifyRequest): WantedHistory {
  const query = withoutEmpty(onlyKnown(request, ['key', 'target_user', 'search', 'before', 'limit']))
  const search = textOf(query, 'search')
  if (search !== undefined && search.length > maxHistorySearch)
    throw errors.badRequest(`Invalid search: it must have at most ${maxHistorySearch} characters`)
  const key = textOf(query, 'key')
  if (key === undefined && query.target_user !== undefined)
    throw errors.badRequest('target_user needs key: the name of a key of this user')
  return {
    key,
    search,
    before: wholeOf(query, 'before', 1, maxHistoryNumber),
    limit: wholeOf(query, 'limit', 1, maxHistoryPage) ?? defaultHistoryPage,
  }
}

/** An empty name is no key's: a forgotten one must not mean the caller's own history, which would be deleted. */
export const readKeyOfHistory = (request: FastifyRequest) => textOf(onlyKnown(request, ['key']), 'key')

function onlyKnown({ query }: FastifyRequest, known: readonly string[]): Parameters {
  const given = query as Parameters
  const unknown = Object.keys(given).find((name) => name !== 'api_key' && !known.includes(name))
  if (unknown === undefined) return given
  throw errors.badRequest(`Unknown parameter: ${unknown.slice(0, 100)}. Known: ${known.join(', ')}`)
}

export function readEntryId({ params }: FastifyRequest): string {
  const { entry } = params as { entry: string }
  if (!isUuid(entry)) throw errors.badRequest('The id of a statement must be a UUID')
  return entry.toLowerCase()
}

export type NewEntry = HistoryEntry & Readonly<{ key: string | undefined }>

/** `credential`: that of the request. Its token may have any form, as an operator chose it. */
export function readNewEntry(body: unknown, credential: Credential): NewEntry {
  if (!isJsonObject(body)) throw errors.badRequest('The body must be an object with the statement')
  const unknown = unknownMember(body, members)
  if (unknown !== undefined) throw errors.badRequest(`Unknown member: ${unknown.slice(0, 100)}`)
  const { id, text_is_cut: isCut = false, key } = body
  if (typeof id !== 'string' || !isUuid(id)) throw errors.badRequest('id must be a UUID')
  if (typeof isCut !== 'boolean') throw errors.badRequest('text_is_cut must be true or false')
  if (key !== undefined && typeof key !== 'string') throw errors.badRequest('key must be the name of a key')
  const whole = withoutTokens(readText(body.text), credential)
  const text = beginningOf(whole, maxHistoryText)
  return {
    id: id.toLowerCase(),
    text,
    isCut: isCut || text.length < whole.length,
    outcome: readOutcome(body.outcome),
    runMs: numberOf(body, 'ms') ?? missing('ms'),
    rowCount: numberOf(body, 'rows'),
    errorCode: readCode(body.code),
    key,
  }
}

const members: readonly string[] = [
  'id',
  'text',
  'text_is_cut',
  'outcome',
  'ms',
  'rows',
  'code',
  'key',
  ...Object.keys(knownExtras),
]

function readText(text: unknown): string {
  if (typeof text === 'string' && text.trim() !== '') return text
  throw errors.badRequest('text must be the text of the statement')
}

/** A list of statements is read by more people than a key is given to. */
function withoutTokens(text: string, credential: Credential): string {
  const known = text.replace(/cartage_[\w-]{20,}/g, 'cartage_***')
  return credential.kind === 'token' && credential.token !== defaultToken
    ? known.replaceAll(credential.token, '***')
    : known
}

function readOutcome(given: unknown): HistoryOutcome {
  const outcome = historyOutcomes.find((known) => known === given)
  if (outcome !== undefined) return outcome
  throw errors.badRequest(`outcome must be one of ${historyOutcomes.join(', ')}`)
}

/** Null if it is not given. */
function numberOf(body: Parameters, name: string): number | null {
  const given = body[name]
  if (given === undefined || given === null) return null
  if (Number.isInteger(given) && (given as number) >= 0 && (given as number) <= maxHistoryNumber)
    return given as number
  throw errors.badRequest(`${name} must be a whole number from 0 to ${maxHistoryNumber}`)
}

function missing(name: string): never {
  throw errors.badRequest(`${name} must be given`)
}

function readCode(code: unknown): string | null {
  if (code === undefined || code === null) return null
  if (typeof code === 'string' && code.length <= maxHistoryCode && /^[\w.-]+$/.test(code)) return code
  throw errors.badRequest(
    `code must be a code of an error: at most ${maxHistoryCode} letters, digits, hyphens, dots or underscores`,
  )
}
