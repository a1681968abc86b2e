import type { Fallbacks, ItemDefinition, JobDefinition } from './job.ts'

export type JobQueryRefusal = {
  readonly ok: false
  readonly code: 'missing-query' | 'too-large' | 'invalid-query' | 'read-only-member'
  readonly message: string
}

export type JobQuery = { readonly ok: true; readonly definition: JobDefinition } | JobQueryRefusal

const maxCharacters = 16_384

/** What a client asks for in the body of a new job, or why it cannot be. */
export function parseJobQuery(body: unknown): JobQuery {
  // Counted over the whole body as JSON, extras included, however it was sent.
  const characters = serialisedLength(body)
  if (characters === undefined) return invalid('The query is nested too deeply')
  if (characters > maxCharacters) return tooLarge(characters)
  if (!isObject(body)) return missingQuery
  const unknown = unknownMember(body, bodyMembers)
  if (unknown !== undefined) return invalid(`The body has an unknown member: ${unknown}`)
  const definition = definitionOf(body)
  return typeof definition === 'string' ? invalid(definition) : (definition ?? missingQuery)
}

/** The same for the body of an update, where only the query may stand: what is read-only is refused. */
export function parseJobUpdate(body: unknown): JobQuery {
  const fixed = isObject(body) ? Object.keys(body).filter((name) => readOnlyMembers.includes(name)) : []
  return fixed.length > 0 ? readOnly(fixed) : parseJobQuery(body)
}

const readOnlyOutcome = [
  'status',
  'failed_reason',
  'failed_sqlstate',
  'fallback_status',
  'fallback_failed_reason',
]

// A document that was read can be sent again: what the service has added to it is ignored.
const readOnlyMembers = ['job_id', 'user', 'created_at', 'updated_at', ...readOnlyOutcome]
const readOnlyItemMembers = ['started_at', 'ended_at', ...readOnlyOutcome]

const jobMembers = ['query', 'onsuccess', 'onerror']
const itemMembers = [...jobMembers, 'timeout', ...readOnlyItemMembers]
// Old clients send `api_key` and `client` in every body.
const bodyMembers = [...jobMembers, 'api_key', 'client', ...readOnlyMembers]

/** Stringifying overflows the stack on a body of nothing but brackets. */
function serialisedLength(body: unknown): number | undefined {
  try {
    return (JSON.stringify(body) ?? '').length
  } catch {
    return undefined
  }
}

type Members = Readonly<Record<string, unknown>>

/** A text is a problem, and names its place; nothing means that there is no query at all. */
function definitionOf(body: Members): JobQuery | string | undefined {
  const query = own(body, 'query')
  const beside = fallbacksOf(body, '')
  if (typeof beside === 'string') return beside
  if (typeof query === 'string') return ofString(query, beside)
  if (Array.isArray(query)) return ofItems(query, 'query', beside, isEmpty(beside) ? 'array' : 'object')
  if (isObject(query)) return ofObject(query, beside)
  return undefined
}

function ofString(query: string, fallbacks: Fallbacks): JobQuery | string | undefined {
  if (query.trim() === '') return undefined
  const problem = textProblem(query, 'query')
  const form = isEmpty(fallbacks) ? 'string' : 'object'
  return problem ?? accepted({ form, items: [{ statement: query }], ...fallbacks })
}

function ofObject(query: Members, beside: Fallbacks): JobQuery | string {
  if (!isEmpty(beside)) return 'onsuccess and onerror must stand inside query when query is an object'
  const unknown = unknownMember(query, jobMembers)
  if (unknown !== undefined) return `query has an unknown member: ${unknown}`
  const items = own(query, 'query')
  if (!Array.isArray(items) || items.length === 0) return 'query.query must be a non-empty array'
  const fallbacks = fallbacksOf(query, 'query.')
  return typeof fallbacks === 'string' ? fallbacks : ofItems(items, 'query.query', fallbacks, 'object')!
}

function ofItems(
  values: readonly unknown[],
  place: string,
  fallbacks: Fallbacks,
  form: 'array' | 'object',
): JobQuery | string | undefined {
  if (values.length === 0) return undefined
  const items: ItemDefinition[] = []
  for (const [index, value] of values.entries()) {
    const item = itemOf(value, `${place}[${index}]`)
    if (typeof item === 'string') return item
    items.push(item)
  }
  return accepted({ form, items, ...fallbacks })
}

function itemOf(value: unknown, place: string): ItemDefinition | string {
  if (typeof value === 'string') return textProblem(value, place) ?? { statement: value }
  if (!isObject(value)) return `${place} must be a string or an object`
  const unknown = unknownMember(value, itemMembers)
  if (unknown !== undefined) return `${place} has an unknown member: ${unknown}`
  const statement = own(value, 'query')
  const problem = textProblem(statement, `${place}.query`)
  if (problem !== undefined) return problem
  const timeout = timeoutOf(value, `${place}.timeout`)
  if (typeof timeout === 'string') return timeout
  const fallbacks = fallbacksOf(value, `${place}.`)
  return typeof fallbacks === 'string'
    ? fallbacks
    : { statement: statement as string, ...fallbacks, ...timeout }
}

function timeoutOf(item: Members, place: string): { timeoutMs?: number } | string {
  if (!Object.hasOwn(item, 'timeout')) return {}
  const timeoutMs = item.timeout
  const isPositive = typeof timeoutMs === 'number' && Number.isSafeInteger(timeoutMs) && timeoutMs > 0
  return isPositive ? { timeoutMs } : `${place} must be a positive integer, in milliseconds`
}

function fallbacksOf(members: Members, prefix: string): Fallbacks | string {
  const fallbacks: { onsuccess?: string; onerror?: string } = {}
  for (const name of ['onsuccess', 'onerror'] as const) {
    if (!Object.hasOwn(members, name)) continue
    const problem = textProblem(members[name], `${prefix}${name}`)
    if (problem !== undefined) return problem
    fallbacks[name] = members[name] as string
  }
  return fallbacks
}

function textProblem(value: unknown, place: string): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return `${place} must be a non-empty string`
  if (value.includes('\0')) return `${place} must not contain NUL characters`
  // With the u flag only a surrogate without its partner counts as one.
  if (/\p{Surrogate}/u.test(value)) return `${place} must be valid Unicode`
  return undefined
}

/** What came as JSON may have a member of any name, `__proto__` too: only own members count. */
function own(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function unknownMember(members: Members, known: readonly string[]): string | undefined {
  return Object.keys(members).find((name) => !known.includes(name))
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmpty(fallbacks: Fallbacks): boolean {
  return fallbacks.onsuccess === undefined && fallbacks.onerror === undefined
}

function accepted(definition: JobDefinition): JobQuery {
  return { ok: true, definition }
}

const missingQuery: JobQuery = { ok: false, code: 'missing-query', message: 'You must indicate a valid SQL' }

function tooLarge(characters: number): JobQuery {
  const message = `The query is too large: ${characters} characters. The maximum allowed size is 16384 (16 KB).`
  return { ok: false, code: 'too-large', message }
}

function invalid(message: string): JobQuery {
  return { ok: false, code: 'invalid-query', message }
}

function readOnly(names: readonly string[]): JobQuery {
  return {
    ok: false,
    code: 'read-only-member',
    message: `Only query can be changed, not ${names.join(', ')}`,
  }
}
