import { errors } from '../errors.ts'
import type { Paging } from '../sql/query-kind.ts'

export const formats = ['json', 'geojson', 'csv', 'ndjson'] as const
export type Format = (typeof formats)[number]

/** A request to the SQL endpoint, checked. */
export type Query = Readonly<{
  sql: string
  format: Format
  paging: Paging | undefined
  skippedFields: readonly string[]
  /** Decimal digits of GeoJSON coordinates. */
  decimals: number
  /** Without extension; undefined if the client did not ask for a file. */
  filename: string | undefined
}>

export type Parameters = Readonly<Record<string, unknown>>

/** Reads the parameters of a request, wherever they came in; throws on the first bad one. */
export function readQuery(parameters: Parameters): Query {
  return {
    sql: sqlOf(parameters),
    format: formatOf(parameters),
    paging: pagingOf(parameters),
    skippedFields: skippedFieldsOf(parameters.skipfields),
    decimals: wholeOf(parameters, 'dp', 0, 15) ?? defaultDecimals,
    filename: textOf(parameters, 'filename'),
  }
}

function sqlOf(parameters: Parameters): string {
  const sql = textOf(parameters, 'q')
  if (sql === undefined || sql.trim() === '') throw errors.badRequest('You must indicate a sql query')
  if (sql.includes('\0')) throw errors.badRequest('The query must not contain null bytes')
  return sql
}

function formatOf(parameters: Parameters): Format {
  const name = textOf(parameters, 'format')?.toLowerCase() ?? 'json'
  const format = formats.find((known) => known === name)
  if (!format) throw errors.badRequest(`Invalid format: ${name}. The formats are ${formats.join(', ')}`)
  return format
}

function pagingOf(parameters: Parameters): Paging | undefined {
  const limit = wholeOf(parameters, 'rows_per_page', 0, maxRowsPerPage)
  const page = wholeOf(parameters, 'page', 0, maxPage)
  const orderBy = textOf(parameters, 'order_by')
  const sortOrder = sortOrderOf(parameters)
  if (limit === undefined && orderBy === undefined) return undefined
  return {
    ...(limit === undefined ? {} : { limit, offset: limit * (page ?? 0) }),
    ...(orderBy === undefined ? {} : { orderBy }),
    ...(sortOrder === undefined ? {} : { sortOrder }),
  }
}

function sortOrderOf(parameters: Parameters): 'asc' | 'desc' | undefined {
  const text = textOf(parameters, 'sort_order')?.toLowerCase()
  if (text === undefined || text === 'asc' || text === 'desc') return text
  throw errors.badRequest("Invalid sort_order: it must be 'asc' or 'desc'")
}

/** A comma list, or several of them. */
function skippedFieldsOf(value: unknown): readonly string[] {
  const lists = value === undefined ? [] : Array.isArray(value) ? value : [value]
  return lists.flatMap((list: unknown) => {
    if (typeof list !== 'string') throw errors.badRequest('Invalid skipfields: it must be a list of names')
    return list.split(',').filter((name) => name !== '')
  })
}

/** An empty text counts as absent, except where it is the query itself. */
function textOf(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value
  throw errors.badRequest(
    Array.isArray(value)
      ? `The parameter ${name} is given more than once`
      : `The parameter ${name} must be text`,
  )
}

/** From a form or a query string as digits, from JSON also as a number. */
function wholeOf(parameters: Parameters, name: string, min: number, max: number): number | undefined {
  const value = parameters[name]
  const text = typeof value === 'number' ? String(value) : textOf(parameters, name)
  if (text === undefined) return undefined
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  throw errors.badRequest(`Invalid ${name}: it must be a whole number from ${min} to ${max}`)
}

const defaultDecimals = 6
const maxRowsPerPage = 1_000_000_000
const maxPage = 1_000_000
