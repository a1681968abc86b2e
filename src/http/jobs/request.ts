import type { FastifyRequest } from 'fastify'
import {
  defaultBackoffSeconds,
  jobLabelRule,
  longestWaitSeconds,
  maxBackoffSeconds,
  maxJobAttempts,
  maxJobCharacters,
  maxJobItems,
  maxJobLabels,
  maxJobNameLength,
  maxLongJobCharacters,
} from '../../contract/limits.ts'
import { isJsonObject, unknownMember } from '../../contract/text/json-object.ts'
import { type AppError, errors } from '../../errors.ts'
import type {
  Fallbacks,
  ItemDefinition,
  JobDefinition,
  JobTags,
  JobTiming,
  RetryRule,
} from '../../jobs/job.ts'
import { isUuid, type Parameters, zonedTime } from '../middleware/parameters.ts'
import { readParams, writtenParams } from './bound-values.ts'

/** Reads the body of a new job at the classic address. */
export const readNewJob = (body: unknown): JobDefinition =>
  readDefinition(readBody(body, maxJobCharacters, bodyMembers))

/** The same at the address of version 4, with the further members that it takes. */
export function readLongJob(body: unknown): JobDefinition {
  const known = [...bodyMembers, ...optionMembers, ...shownMembers]
  return readLong(readBody(body, maxLongJobCharacters, known))
}

function readLong(members: Parameters): JobDefinition {
  const { timeoutMs } = readTimeout(members, 'timeout')
  const definition = withParams(members, readDefinition(members, longItemMembers))
  const items = definition.items.map((item) => (timeoutMs === undefined ? item : { timeoutMs, ...item }))
  return { ...definition, items, ...readTags(members), ...readTiming(members) }
}

/** The job in the body of a schedule, without the members of the schedule itself. */
export function readScheduledJob(body: Parameters, name: string, others: readonly string[]): JobDefinition {
  const known = [...bodyMembers, ...others, 'labels', 'timeout', 'params', 'retry']
  const definition = readLong(readBody(body, maxLongJobCharacters, known))
  return { ...definition, name }
}

/** Checks the stored form of the values, which may be longer than what JSON.parse reads. */
function refuseLongParams(definition: JobDefinition): JobDefinition {
  const characters = JSON.stringify(definition).length
  if (characters > 2 * maxLongJobCharacters)
    throw errors.jobInvalid(tooLarge(characters, maxLongJobCharacters))
  return definition
}

/** Bind parameters, beside a single statement or in each item. */
function withParams(body: Parameters, definition: JobDefinition): JobDefinition {
  const query = own(body, 'query')
  const written = writtenParams(body)
  if (own(body, 'params') !== undefined) {
    if (typeof query !== 'string')
      throw errors.jobInvalid(
        'params needs a query that is a string; in a chain, give each item its own params',
      )
    const params = readParams(written.ofJob, 'params')
    return refuseLongParams({ ...definition, items: definition.items.map((item) => ({ ...item, params })) })
  }
  const items = Array.isArray(query) ? query : isJsonObject(query) ? (own(query, 'query') as unknown[]) : []
  if (!items.some((item) => isJsonObject(item) && own(item, 'params') !== undefined)) return definition
  const paramsOf = (index: number) =>
    isJsonObject(items[index]) && own(items[index], 'params') !== undefined
      ? { params: readParams(written.ofItem(index), `query[${index}].params`) }
      : {}
  return refuseLongParams({
    ...definition,
    items: definition.items.map((item, index) => ({ ...item, ...paramsOf(index) })),
  })
}

function readTiming(members: Parameters): JobTiming {
  const [notBefore, retry] = [own(members, 'not_before'), own(members, 'retry')]
  return {
    ...(notBefore !== undefined && { notBefore: readNotBefore(notBefore) }),
    ...(retry !== undefined && { retry: readRetry(retry) }),
  }
}

function readNotBefore(value: unknown): string {
  const time = zonedTime(value)
  if (time) return time
  throw errors.jobInvalid('not_before must be a time with its zone, such as 2026-01-31T10:00:00Z')
}

export function readRetry(value: unknown): RetryRule {
  if (!isJsonObject(value)) throw errors.jobInvalid('retry must be an object, such as {"attempts": 3}')
  refuseUnknownMembers(value, ['attempts', 'backoff_s'], 'retry')
  const attempts = own(value, 'attempts')
  const backoff = own(value, 'backoff_s') ?? defaultBackoffSeconds
  if (!isWhole(attempts, 1, maxJobAttempts))
    throw errors.jobInvalid(`retry.attempts must be a whole number from 1 to ${maxJobAttempts}`)
  if (typeof backoff !== 'number' || !(backoff >= 0 && backoff <= maxBackoffSeconds))
    throw errors.jobInvalid(`retry.backoff_s must be a number from 0 to ${maxBackoffSeconds}`)
  return { attempts, backoffMs: Math.round(backoff * 1000) }
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

function readBody(body: unknown, maxCharacters: number, known: readonly string[]): Parameters {
  // Counts the whole body as JSON, extras included, however it was sent.
  const characters = serialisedLength(body)
  if (characters > maxCharacters) throw errors.jobInvalid(tooLarge(characters, maxCharacters))
  if (!isJsonObject(body)) throw missingQuery()
  refuseUnknownMembers(body, known, 'The body')
  return body
}

/** Reads an update, which may contain only the query: other members of a job are refused. */
export function readJobUpdate(body: unknown): JobDefinition {
  return readDefinition(readUpdate(body, maxJobCharacters, []))
}

/** The same at the address of version 4: the parameters belong to the query. */
export function readLongJobUpdate(body: unknown): JobDefinition {
  const members = readUpdate(body, maxLongJobCharacters, ['params'])
  return withParams(members, readDefinition(members, longItemMembers))
}

function readUpdate(body: unknown, maxCharacters: number, beside: readonly string[]): Parameters {
  const others = [...readOnlyMembers, ...optionMembers, ...shownMembers].filter(
    (name) => !beside.includes(name),
  )
  const fixed = isJsonObject(body) ? Object.keys(body).filter((name) => others.includes(name)) : []
  if (fixed.length > 0) throw errors.jobInvalid(`Only query can be changed, not ${fixed.join(', ')}`)
  return readBody(body, maxCharacters, [...bodyMembers, ...beside])
}

function readTags(members: Parameters): JobTags {
  const [name, labels] = [own(members, 'name'), own(members, 'labels')]
  return {
    ...(name !== undefined && { name: readName(name) }),
    ...(labels !== undefined && { labels: readLabels(labels) }),
  }
}

function readName(value: unknown): string {
  const name = readText(value, 'name')
  if (name.length <= maxJobNameLength && !/\p{Cc}/u.test(name)) return name
  throw errors.jobInvalid(`name must have at most ${maxJobNameLength} characters, all printable`)
}

function readLabels(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length > maxJobLabels)
    throw errors.jobInvalid(`labels must be an array of at most ${maxJobLabels} words`)
  const wrong = value.findIndex(
    (label) => typeof label !== 'string' || !/^[\p{L}\p{N}._/:=-]{1,63}$/u.test(label),
  )
  if (wrong >= 0) throw errors.jobInvalid(`labels[${wrong}] must be ${jobLabelRule}`)
  return [...new Set(value as string[])]
}

const tooLarge = (characters: number, most: number) =>
  `The query is too large: ${characters} characters. The maximum allowed size is ${most} (${most < 1024 ** 2 ? `${most / 1024} KB` : `${most / 1024 ** 2} MB`}).`

const missingQuery = (): AppError => errors.jobInvalid('You must indicate a valid SQL')

const readOnlyOutcome = [
  'status',
  'failed_reason',
  'failed_sqlstate',
  'fallback_status',
  'fallback_failed_reason',
]

// A document that was read can be sent again: members added by the service are ignored.
const readOnlyMembers = ['job_id', 'user', 'created_at', 'updated_at', ...readOnlyOutcome]
const readOnlyItemMembers = ['started_at', 'ended_at', 'rows', ...readOnlyOutcome]

const jobMembers = ['query', 'onsuccess', 'onerror']
const itemMembers = [...jobMembers, 'timeout', ...readOnlyItemMembers]
const longItemMembers = [...itemMembers, 'params']
// Old clients send `api_key` and `client` in every body.
const bodyMembers = [...jobMembers, 'api_key', 'client', ...readOnlyMembers]
const optionMembers = ['name', 'labels', 'timeout', 'params', 'not_before', 'retry', 'notify']
/** In a document of version 4. */
const shownMembers = [
  'started_at',
  'ended_at',
  'duration_ms',
  'position',
  'rows',
  'attempts',
  'progress',
  'schedule',
]

function serialisedLength(body: unknown): number {
  try {
    return (JSON.stringify(body) ?? '').length
  } catch {
    // A body of only brackets overflows the stack.
    throw errors.jobInvalid('The query is nested too deeply')
  }
}

function readDefinition(body: Parameters, known = itemMembers): JobDefinition {
  const query = own(body, 'query')
  const beside = readFallbacks(body, '')
  if (typeof query === 'string' && query.trim() !== '') {
    const items = [{ statement: readText(query, 'query') }]
    return { form: isEmpty(beside) ? 'string' : 'object', items, ...beside }
  }
  if (Array.isArray(query) && query.length > 0) {
    return { form: isEmpty(beside) ? 'array' : 'object', items: readItems(query, 'query', known), ...beside }
  }
  if (isJsonObject(query)) return readObject(query, beside, known)
  throw missingQuery()
}

function readObject(query: Parameters, beside: Fallbacks, known: readonly string[]): JobDefinition {
  if (!isEmpty(beside)) {
    throw errors.jobInvalid('onsuccess and onerror must be inside query when query is an object')
  }
  refuseUnknownMembers(query, jobMembers, 'query')
  const items = own(query, 'query')
  if (!Array.isArray(items) || items.length === 0) {
    throw errors.jobInvalid('query.query must be a non-empty array')
  }
  const fallbacks = readFallbacks(query, 'query.')
  return { form: 'object', items: readItems(items, 'query.query', known), ...fallbacks }
}

function readItems(values: readonly unknown[], place: string, known: readonly string[]): ItemDefinition[] {
  if (values.length > maxJobItems)
    throw errors.jobInvalid(`${place} has ${values.length} statements. A job has at most ${maxJobItems}`)
  return values.map((value, index) => readItem(value, `${place}[${index}]`, known))
}

function readItem(value: unknown, place: string, known: readonly string[]): ItemDefinition {
  if (typeof value === 'string') return { statement: readText(value, place) }
  if (!isJsonObject(value)) throw errors.jobInvalid(`${place} must be a string or an object`)
  refuseUnknownMembers(value, known, place)
  return {
    statement: readText(own(value, 'query'), `${place}.query`),
    ...readTimeout(value, `${place}.timeout`),
    ...readFallbacks(value, `${place}.`),
  }
}

function readTimeout(item: Parameters, place: string): { timeoutMs?: number } {
  if (!Object.hasOwn(item, 'timeout')) return {}
  const timeoutMs = item.timeout
  if (typeof timeoutMs === 'number' && Number.isSafeInteger(timeoutMs) && timeoutMs > 0) return { timeoutMs }
  throw errors.jobInvalid(`${place} must be a positive integer, in milliseconds`)
}

function readFallbacks(members: Parameters, prefix: string): Fallbacks {
  const fallbacks: { onsuccess?: string; onerror?: string } = {}
  for (const name of ['onsuccess', 'onerror'] as const) {
    if (Object.hasOwn(members, name)) fallbacks[name] = readFallback(members[name], `${prefix}${name}`)
  }
  return fallbacks
}

/** Short at every address: its template is filled in at one go. */
function readFallback(value: unknown, place: string): string {
  const text = readText(value, place)
  if (text.length <= maxJobCharacters) return text
  throw errors.jobInvalid(
    `${place} has ${text.length} characters. A fallback has at most ${maxJobCharacters}`,
  )
}

function readText(value: unknown, place: string): string {
  if (typeof value !== 'string' || value.trim() === '') {
    throw errors.jobInvalid(`${place} must be a non-empty string`)
  }
  if (!value.isWellFormed()) throw errors.jobInvalid(`${place} must be valid Unicode`)
  return value
}

/** JSON may contain a member of any name, even `__proto__`: only own members count. */
function own(members: Parameters, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function refuseUnknownMembers(members: Parameters, known: readonly string[], place: string): void {
  const unknown = unknownMember(members, known)
  if (unknown !== undefined) throw errors.jobInvalid(`${place} has an unknown member: ${unknown}`)
}

function isEmpty(fallbacks: Fallbacks): boolean {
  return fallbacks.onsuccess === undefined && fallbacks.onerror === undefined
}

/** An invalid id is an unknown one. */
export function readJobId({ params }: FastifyRequest): string {
  const { jobId } = params as { jobId: string }
  if (!isUuid(jobId)) throw errors.jobNotFound(jobId)
  return jobId.toLowerCase()
}

/** How long the client wants to wait for the end of the job. */
export function readWaitMs({ query }: FastifyRequest): number {
  const { wait } = query as Parameters
  if (wait === undefined) return 0
  if (typeof wait !== 'string' || !/^\d+(\.\d+)?$/.test(wait)) {
    throw errors.badRequest('wait must be a number of seconds')
  }
  return Math.min(Number(wait), longestWaitSeconds) * 1000
}
