import { isJsonObject, type JsonObject } from '../contract/text/json-object.ts'
import { quoteLiteral, quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import { areaConditions } from './area.ts'
import { columnsSql, kindsOf } from './columns.ts'
import { shortened } from './config-text.ts'
import {
  askAll,
  askOne,
  type DataviewRequest,
  type DataviewRows,
  finite,
  unusualSql,
} from './dataview-sql.ts'
import { dateHistogram, numberHistogram } from './histogram.ts'
import { type LayerSql, wholeWorld } from './layer-sql.ts'
import { type ColumnFilter, filteredRows } from './rows-filter.ts'

export type Dataview = Readonly<{
  name: string
  type: 'formula' | 'aggregation' | 'histogram'
  /** The id of the analysis that has its rows. */
  sourceId: string
  sql: LayerSql
  options: JsonObject
}>

const operations = ['count', 'avg', 'sum', 'min', 'max']

export function readDataview(name: string, raw: unknown, sources: ReadonlyMap<string, LayerSql>): Dataview {
  const { type, source, options } = isJsonObject(raw) ? raw : ({} as JsonObject)
  if (type !== 'formula' && type !== 'aggregation' && type !== 'histogram')
    throw errors.dataviewInvalid(`Invalid dataview type: '${shortened(type)}'`)
  const sourceId = isJsonObject(source) ? source.id : undefined
  const sql = typeof sourceId === 'string' ? sources.get(sourceId) : undefined
  if (!sql)
    throw errors.dataviewInvalid(
      `Node with \`source.id="${shortened(sourceId)}"\` not found in analyses for dataview "${shortened(name)}"`,
    )
  if (!isJsonObject(options)) throw errors.dataviewInvalid(`Missing options of dataview '${shortened(name)}'`)
  requireOptions(type, options)
  return { name, type, sourceId: sourceId as string, sql, options }
}

function requireOptions(
  type: Dataview['type'],
  { column, operation, aggregation, aggregationColumn }: JsonObject,
): void {
  const noun = `${type[0]!.toUpperCase()}${type.slice(1)}`
  const called = type === 'formula' ? operation : aggregation
  const isOptional = type === 'formula' && operation === 'count' && column === undefined
  if (typeof column !== 'string' && !isOptional)
    throw errors.dataviewInvalid(`${noun} expects 'column' in dataview options`)
  if (type === 'histogram') {
    if (called === undefined || typeof called === 'string') return
    throw errors.dataviewInvalid(`${noun} does not support '${shortened(called)}' aggregation`)
  }
  if (typeof called !== 'string' || !operations.includes(called))
    throw errors.dataviewInvalid(`${noun} does not support '${shortened(called)}' operation`)
  if (type === 'aggregation' && called !== 'count' && typeof aggregationColumn !== 'string')
    throw errors.dataviewInvalid(`Aggregation '${called}' is missing some options: aggregationColumn`)
}

/** Computes a dataview in one snapshot, as the role of the session. Leaves the transaction open. */
export async function computeDataview(
  session: Session,
  dataview: Dataview,
  filters: readonly ColumnFilter[],
  request: DataviewRequest,
): Promise<JsonObject> {
  const { sql, options, type } = dataview
  if (request.search !== undefined && type !== 'aggregation')
    throw errors.dataviewInvalid(`Dataview '${shortened(dataview.name)}' has no categories to search`)
  await session.query('begin isolation level repeatable read read only')
  const { fields } = await session.query(columnsSql(sql, wholeWorld))
  const kinds = await kindsOf(session, fields)
  const dates = new Set([...kinds].filter(([, kind]) => kind === 'date').map(([name]) => name))
  const kept = request.noFilters
    ? []
    : filters.filter((each) => request.ownFilter || each.dataview !== dataview.name)
  const from = filteredRows(sql(wholeWorld), kept, dates, areaConditions(request))
  const rowsOf = (name: unknown): DataviewRows => {
    const column = columnOf(name)
    return { from, column: `t.${quoteName(column)}`, kind: kinds.get(column) }
  }
  if (type === 'formula') {
    const rows = isCountOfRows(options) ? { from, column: '1', kind: undefined } : rowsOf(options.column)
    return { type, ...(await formula(session, rows, String(options.operation))) }
  }
  const rows = rowsOf(options.column)
  if (type === 'histogram') return { type, ...(await histogram(session, rows, options, request)) }
  const called = String(options.aggregation)
  const measured = called === 'count' ? undefined : rowsOf(options.aggregationColumn)
  return { type, ...(await categories(session, rows, { called, measured }, request)) }
}

const isCountOfRows = ({ operation, column }: JsonObject) =>
  operation === 'count' && (column === undefined || column === '*')

/** Clients quote it as in SQL. */
const columnOf = (name: unknown) => String(name).replace(/^"(.*)"$/s, '$1')

function formula(
  session: Session,
  { from, column, kind }: DataviewRows,
  operation: string,
): Promise<JsonObject> {
  return askOne(
    session,
    `select '${operation}' as operation, pg_catalog.${operation}(${finite(column, kind)}) as result, ${unusualSql(column, kind)} from ${from} as t`,
  )
}

/** `measured`: what is aggregated of each category; undefined: its rows are counted. */
type Aggregated = Readonly<{ called: string; measured: DataviewRows | undefined }>

/** Values that are no finite numbers are left out, and counted by themselves. */
async function categories(
  session: Session,
  { from, column }: DataviewRows,
  { called, measured }: Aggregated,
  { categories: asked, ownFilter, search }: DataviewRequest,
): Promise<JsonObject> {
  const counted = measured ? finite(measured.column, measured.kind) : '1'
  const value = `pg_catalog.${called}(${counted})`
  const some = measured ? counted : column
  if (search !== undefined) {
    const pattern = quoteLiteral(`%${search.replace(/[\\%_]/g, '\\$&')}%`)
    const found = `select ${column} as category, ${value} as value from ${from} as t where ${column}::pg_catalog.text operator(pg_catalog.~~*) ${pattern} group by 1 order by 2 desc limit ${mostCategories}`
    return { aggregation: called, categories: await askAll(session, found) }
  }
  const grouped = `select ${column} as category, ${value} as value from ${from} as t where ${some} is not null group by 1`
  const most = ownFilter ? mostCategories : Math.max(1, (asked ?? defaultCategories) - 1)
  const ranked = `(select c.category, c.value, pg_catalog.row_number() over (order by c.value desc) as rank from (${grouped}) as c)`
  const shown = await askAll(
    session,
    `select r.category, r.value, false as agg from ${ranked} as r where r.rank operator(pg_catalog.<=) ${most} order by r.rank`,
  )
  const rest = await askOne(
    session,
    `select pg_catalog.${called === 'count' ? 'sum' : called}(r.value) filter (where r.rank operator(pg_catalog.>) ${most}) as value,
      pg_catalog.max(r.value) as max, pg_catalog.min(r.value) as min, pg_catalog.count(*) as n from ${ranked} as r`,
  )
  const summary = await askOne(
    session,
    `select pg_catalog.count(*) as count, ${unusualSql(column, measured?.kind, measured?.column)} from ${from} as t`,
  )
  const other = rest.value === null || ownFilter ? [] : [{ category: 'Other', value: rest.value, agg: true }]
  return {
    aggregation: called,
    ...summary,
    min: rest.min ?? 0,
    max: rest.max ?? 0,
    categoriesCount: rest.n,
    categories: [...shown, ...other],
  }
}

const defaultCategories = 6
const mostCategories = 10_000

function histogram(
  session: Session,
  rows: DataviewRows,
  options: JsonObject,
  request: DataviewRequest,
): Promise<JsonObject> {
  const unit = request.aggregation ?? options.aggregation
  if (rows.kind !== undefined && !countable.has(rows.kind))
    throw errors.dataviewInvalid('The column of a histogram must be a number or a date')
  if (unit === undefined)
    return numberHistogram(session, rows, { ...request, bins: request.bins ?? wholeIn(options.bins) })
  if (rows.kind !== undefined && rows.kind !== 'date')
    throw errors.dataviewInvalid('The column of a histogram by time must be a date')
  return dateHistogram(session, rows, String(unit), {
    ...request,
    offset: request.offset ?? wholeIn(options.offset),
  })
}

const countable: ReadonlySet<string> = new Set(['integer', 'float', 'numeric', 'date'])

const wholeIn = (value: unknown) => (typeof value === 'number' && Number.isInteger(value) ? value : undefined)
