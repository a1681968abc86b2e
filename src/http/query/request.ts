import type { FastifyRequest } from 'fastify'
import { sortOrders, sqlFormats, type Total, totals } from '../../contract/formats.ts'
import { defaultDecimals, maxDecimals, maxParams } from '../../contract/limits.ts'
import { elementsOf } from '../../contract/text/json-rows.ts'
import { longestName } from '../../contract/text/name-list.ts'
import { errors } from '../../errors.ts'
import type { Query } from '../../query/query.ts'
import type { Paging } from '../../sql/query-kind.ts'
import { NotUtf8, parseForm } from '../middleware/body/form.ts'
import {
  choiceOf,
  filenameOf,
  isJsonArray,
  maxParamsLength,
  type Parameters,
  parametersOf,
  textOf,
  unlessEmpty,
  wholeOf,
} from '../middleware/parameters.ts'

/** Reads the parameters of a request, from query string and body; throws on the first bad one. */
export function readQuery(request: FastifyRequest): Query {
  const parameters = knownOf(parametersOf(request))
  return { sql: sqlOf(parameters), params: paramsOf(parameters), ...rowsOptionsOf(parameters) }
}

/** How the rows are wanted. */
export function rowsOptionsOf(parameters: Parameters): Omit<Query, 'sql' | 'params'> {
  return {
    format: choiceInAnyCase(parameters, 'format', sqlFormats) ?? 'json',
    paging: pagingOf(parameters),
    skippedFields: skippedFieldsOf(parameters.skipfields),
    decimals: wholeOf(parameters, 'dp', 0, maxDecimals) ?? defaultDecimals,
    filename: filenameOf(parameters),
    total: totalOf(parameters),
  }
}

/** An empty one counts as absent. Read by name: iterating over all parameters takes 1 % of a short query. */
function knownOf(all: Parameters): Parameters {
  return {
    q: unlessEmpty(all.q),
    params: unlessEmpty(all.params),
    format: unlessEmpty(all.format),
    rows_per_page: unlessEmpty(all.rows_per_page),
    page: unlessEmpty(all.page),
    order_by: unlessEmpty(all.order_by),
    sort_order: unlessEmpty(all.sort_order),
    skipfields: unlessEmpty(all.skipfields),
    dp: unlessEmpty(all.dp),
    filename: unlessEmpty(all.filename),
    total: unlessEmpty(all.total),
  }
}

export function choiceInAnyCase<T extends string>(
  parameters: Parameters,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = parameters[name]
  // The usual spelling.
  const choice = choices.find((known) => known === value)
  if (choice !== undefined || value === undefined) return choice
  return choiceOf({ [name]: typeof value === 'string' ? value.toLowerCase() : value }, name, choices)
}

export function sqlOf(parameters: Parameters): string {
  const sql = textOf(parameters, 'q')
  if (sql === undefined || sql.trim() === '') throw errors.badRequest('You must indicate a sql query')
  return sql
}

/** The JSON text of each value. A JSON body has `params` as text too: see the route. */
export function paramsOf(parameters: Parameters): readonly string[] | undefined {
  const text = textOf(parameters, 'params')
  if (text === undefined) return undefined
  if (text.length > maxParamsLength) throw errors.paramsTooLarge(maxParamsLength)
  if (!isJsonArray(text)) throw errors.paramsInvalid('params must be a JSON array, such as [1, "two", null]')
  const values: string[] = []
  for (const value of elementsOf(text.trim())) {
    if (values.push(value) > maxParams) throw errors.paramsInvalid(`params has more than ${maxParams} values`)
  }
  return values
}

function pagingOf(parameters: Parameters): Paging | undefined {
  const limit = wholeOf(parameters, 'rows_per_page', 0, maxRowsPerPage)
  const page = wholeOf(parameters, 'page', 0, maxPage)
  const orderBy = textOf(parameters, 'order_by')
  if (orderBy !== undefined && orderBy.length > longestName)
    throw errors.badRequest('order_by must be the name of a column of the result')
  const sortOrder = choiceInAnyCase(parameters, 'sort_order', sortOrders)
  if (limit === undefined && orderBy === undefined) return undefined
  return {
    ...(limit === undefined ? {} : { limit, offset: limit * (page ?? 0) }),
    ...(orderBy === undefined ? {} : { orderBy }),
    ...(sortOrder === undefined ? {} : { sortOrder }),
  }
}

function totalOf(parameters: Parameters): Total | undefined {
  const total = choiceInAnyCase(parameters, 'total', totals)
  if (total !== undefined && parameters.rows_per_page === undefined)
    throw errors.badRequest('total needs rows_per_page: without pages total_rows is the total')
  return total
}

/** A comma list, or several of them. */
function skippedFieldsOf(value: unknown): ReadonlySet<string> {
  if (value === undefined) return none
  const names = new Set<string>()
  for (const list of [value].flat() as unknown[]) {
    if (typeof list !== 'string') throw errors.badRequest('Invalid skipfields: it must be a list of names')
    for (const name of list.split(',')) if (name !== '') names.add(name)
  }
  return names
}

const none: ReadonlySet<string> = new Set()

/** A query string is decoded leniently, but a bad value must not turn into another one. */
export function refuseBrokenParams({ query, url }: FastifyRequest): void {
  if ((query as Parameters).params === undefined) return
  try {
    parseForm(Buffer.from(url.slice(url.indexOf('?') + 1), 'latin1'), 'params')
  } catch (error) {
    throw error instanceof NotUtf8 ? errors.paramsInvalid('params is not valid UTF-8') : error
  }
}

const maxRowsPerPage = 1_000_000_000
const maxPage = 1_000_000
