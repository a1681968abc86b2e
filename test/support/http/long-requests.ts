import { randomUUID } from 'node:crypto'
import { basic, type Setup } from '../service/setup.ts'
import type { Description, Operation, Schema } from './openapi-types.ts'

/** A text; or a unit repeated between two texts; `isJson`: not a text but JSON. */
type Value = string | Long
type Long = Readonly<{ before?: string; unit: string; count: number; after?: string; isJson?: boolean }>
type Encoding = 'json' | 'form' | 'multipart'

/** What request-thread.mjs builds and sends. */
export type LongRequest = Readonly<{
  label: string
  url: string
  method: string
  headers: Readonly<Record<string, string>>
  body?: Readonly<{ encoding: Encoding; members: readonly (readonly [string, Value])[] }>
}>

/**
 * Requests to every described route, each with one parameter of the greatest length: in the path, the query string, a
 * header and a body of each encoding, of several texts, and in JSON with every array and text of the greatest length.
 */
export function longRequests(description: Description, house: Setup): LongRequest[] {
  return Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const route = { path, method: method.toUpperCase(), operation, description, house }
      return [...inPath(route), ...inQuery(route), ...inHeaders(route), ...inBody(route)]
    }),
  )
}

type Route = Readonly<{
  path: string
  method: string
  operation: Operation
  description: Description
  house: Setup
}>

const mostInPath = 3_900
const mostInHead = 15_000
/** A job is small. */
const mostBeside = ({ path }: Route) => (path.includes('/sql/job') ? 128 : 512) * 1024 - 200
/** Each may be as long as the body of its route. */
const longNames: Readonly<Record<string, number>> = {
  'POST /user/{name}/api/v2/sql q': 16 * 1024 ** 2 - 1_000,
  'POST /user/{name}/api/v2/sql/copyto q': 1024 ** 2 - 1_000,
}

/** Texts that may be slow for a parser, regular expression or quoting. */
const units = ['x', '"', 'a,', '😀', '[', ' ', '$a$', '+/*-', 'copy begin ']

function inPath(route: Route): LongRequest[] {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  return names.map((name) => requestOf(route, `path ${name}`, { path: { [name]: 'x'.repeat(mostInPath) } }))
}

function inQuery(route: Route): LongRequest[] {
  const names = (route.operation.parameters ?? []).filter((each) => each.in === 'query')
  const given = Object.fromEntries(
    names.filter(({ required }) => required).map(({ name, schema }) => [name, textSample(name, schema)]),
  )
  return names.flatMap(({ name }) =>
    units.map((unit) => {
      const encoded = encodeURIComponent(unit)
      const long = decodeURIComponent(encoded.repeat(Math.floor(mostInHead / encoded.length)))
      return requestOf(route, `query ${name} ${unit}`, { query: { ...given, [name]: long } })
    }),
  )
}

/** The described headers, and those that every request may have. */
function inHeaders(route: Route): LongRequest[] {
  const described = (route.operation.parameters ?? []).filter((each) => each.in === 'header')
  const common = route.path === '/health/live' || route.path.endsWith('/sql') ? commonHeaders : []
  const names = [...described.map(({ name }) => name), ...common]
  return names.flatMap((name) =>
    ['x', 'a,', ' ;q=1,'].map((unit) =>
      requestOf(route, `header ${name} ${unit}`, {
        headers: { [name]: unit.repeat(mostInHead / unit.length) },
      }),
    ),
  )
}

const commonHeaders = ['authorization', 'accept-encoding', 'x-request-id', 'x-forwarded-for', 'te']

function inBody(route: Route): LongRequest[] {
  const contents = Object.entries(route.operation.requestBody?.content ?? {})
  return contents.flatMap(([type, { schema }]) => {
    const encoding = encodings[type]
    if (!encoding) return []
    const resolved = resolve(schema, route.description)
    return [
      ...longTexts(route, encoding, resolved),
      ...(encoding === 'json' ? longJson(route, resolved) : []),
    ]
  })
}

const encodings: Readonly<Record<string, Encoding>> = {
  'application/json': 'json',
  'application/x-www-form-urlencoded': 'form',
  'multipart/form-data': 'multipart',
}

/**
 * Each member as a long text: alone, and in JSON also with each allowed value of another member (the choice does not
 * depend on the encoding).
 */
function longTexts(route: Route, encoding: Encoding, schema: Schema): LongRequest[] {
  const members = Object.entries(schema.properties ?? {})
  const given = Object.entries(samplesOf(schema)).filter(([, value]) => typeof value === 'string')
  return [...members.map(([name]) => name), 'unknown'].flatMap((name) => {
    const longest = longNames[`${route.method} ${route.path} ${name}`]
    const choices = (encoding === 'json' ? members : []).flatMap(([other, { enum: values = [] }]) =>
      values.filter(() => other !== name).map((value) => [other, String(value)] as const),
    )
    const alone = (longest ? ['x', '"', 'é'] : units).map((unit) => ({
      unit,
      more: [] as (readonly [string, string])[],
    }))
    const beside = [...choices.map((choice) => [choice]), choices].map((more) => ({
      unit: longest ? ' ' : 'é,',
      more,
    }))
    return [...alone, ...beside].map(({ unit, more }) => {
      const value = longText(encoding, unit, longest ?? mostBeside(route), longest ? '/*' : '')
      const named = new Map<string, Value>([...(given as [string, string][]), ...more, [name, value]])
      const label = `${encoding} ${name} ${unit} ${more.map((pair) => pair.join('='))}`
      return requestOf(route, label, { body: { encoding, members: [...named] } })
    })
  })
}

/** A comment is a text of any length that PostgreSQL reads fast. */
function longText(encoding: Encoding, unit: string, longest: number, before: string): Long {
  const encoded = {
    json: JSON.stringify(unit).slice(1, -1),
    form: encodeURIComponent(unit),
    multipart: unit,
  }[encoding]
  const count = Math.floor(longest / Buffer.byteLength(encoded))
  return before ? { before: `select 1 as the_geom ${before}`, unit, count, after: '*/' } : { unit, count }
}

/** Every array and text of the schema with the greatest length; and any value deep, wide and with many members. */
function longJson(route: Route, schema: Schema): LongRequest[] {
  const whole = fillingsOf(schema, route.description, 8)
  const shapes = Object.keys(schema.properties ?? {}).flatMap((name) =>
    anyShapes.map((shape) => ({
      ...shape,
      before: `{${JSON.stringify(name)}:${shape.before}`,
      after: `${shape.after}}`,
    })),
  )
  return [...whole, ...shapes].map(({ before, unit, after }) => {
    const count = Math.floor((mostBeside(route) - before.length - after.length) / Buffer.byteLength(unit))
    const isDeep = unit === '[' || unit === '{"a":'
    const long = { before: before.slice(1), unit, count, after: after.slice(0, -1), isJson: true }
    const label = `json ${before.slice(0, 80)} ${unit.slice(0, 60)}`
    // `before` has the name of the first member.
    const [name = '', ...rest] = long.before.split(':')
    const value = { ...long, before: rest.join(':'), ...(isDeep && { after: '' }) }
    return requestOf(route, label, {
      body: { encoding: 'json', members: [[JSON.parse(name) as string, value]] },
    })
  })
}

type Filling = Readonly<{ before: string; unit: string; after: string }>

const anyShapes: readonly Filling[] = [
  { before: '[', unit: '1,', after: '1]' },
  { before: '[', unit: '"a",', after: '"a"]' },
  { before: '[', unit: '{},', after: '1]' },
  { before: '', unit: '[', after: '' },
  { before: '', unit: '{"a":', after: '' },
  { before: '{', unit: '"apikye":1,', after: '"a":1}' },
  { before: '{"a":1', unit: '0', after: '}' },
]

function fillingsOf(schema: Schema, description: Description, depth: number): Filling[] {
  const each = resolve(schema, description)
  if (depth === 0) return []
  const choices = each.anyOf ?? each.oneOf
  if (choices) return choices.flatMap((choice) => fillingsOf(choice, description, depth - 1))
  if (each.items) {
    const item = JSON.stringify(sampleOf(each.items, description))
    const inside = fillingsOf(each.items, description, depth - 1)
    return [{ before: '[', unit: `${item},`, after: `${item}]` }, ...inside.map(around('[', ']'))]
  }
  if (each.properties) {
    return Object.entries(each.properties).flatMap(([name, property]) => {
      const { [name]: _, ...others } = sampleOf(
        { ...each, properties: each.properties! },
        description,
      ) as Members
      const rest = JSON.stringify(others).slice(1, -1)
      const after = rest ? `,${rest}}` : '}'
      return fillingsOf(property, description, depth - 1).map(around(`{${JSON.stringify(name)}:`, after))
    })
  }
  return each.type === undefined || [each.type].flat().includes('string')
    ? [
        { before: '"', unit: 'x', after: '"' },
        { before: '"', unit: '\\u00e9', after: '"' },
      ]
    : []
}

type Members = Readonly<Record<string, unknown>>

const around = (start: string, end: string) => (filling: Filling) => ({
  ...filling,
  before: start + filling.before,
  after: filling.after + end,
})

/** A value that matches the schema. */
function sampleOf(schema: Schema, description: Description): unknown {
  const each = resolve(schema, description)
  if (each.const !== undefined) return each.const
  if (each.enum) return each.enum[0]
  const choices = each.anyOf ?? each.oneOf
  if (choices) return sampleOf(choices[0]!, description)
  if (each.properties) {
    const names = each.required ?? []
    return Object.fromEntries(
      names.map((name) => [name, sampleOf(each.properties![name] ?? {}, description)]),
    )
  }
  if (each.items) return [sampleOf(each.items, description)]
  const [type = 'string'] = each.type === undefined ? [] : [each.type].flat()
  return { integer: 1, number: 1, boolean: true, array: [], object: {} }[type] ?? 'public'
}

function samplesOf(schema: Schema): Record<string, unknown> {
  const required = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name))
  return Object.fromEntries(required.map(([name, property]) => [name, textSample(name, property)]))
}

const textSample = (name: string, schema: Schema) =>
  name === 'q' ? `select 1 as a, 'POINT(1 1)'::geometry as the_geom` : String(schema.enum?.[0] ?? 'public')

function resolve(schema: Schema, description: Description): Schema {
  return schema.$ref === undefined ? schema : description.components.schemas[schema.$ref.split('/').at(-1)!]!
}

type Given = Readonly<{
  path?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  body?: NonNullable<LongRequest['body']>
}>

function requestOf({ path, method, house, operation }: Route, label: string, given: Given): LongRequest {
  const { username, masterToken } = house.user
  const inPath: Record<string, string> = { name: username, jobId: randomUUID(), ...given.path }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(inPath[name] ?? 'nothing'),
  )
  const query = new URLSearchParams(given.query).toString()
  const isAdmin = path.startsWith('/admin/')
  const credential = isAdmin
    ? { authorization: `Bearer ${house.keys.adminToken}` }
    : basic(username, masterToken)
  const hasOwn = label.includes('api_key')
  return {
    label: `${method} ${path} ${label}`,
    url: `${house.url}${filled}${query && `?${query}`}`,
    method,
    headers: { ...(hasOwn ? {} : credential), ...given.headers },
    ...(given.body && { body: given.body }),
    ...(operation.requestBody?.content?.['application/octet-stream'] && { headers: { ...credential } }),
  }
}
