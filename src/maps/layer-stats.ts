import { isJsonObject, type JsonObject } from '../contract/text/json-object.ts'
import { quoteName } from '../contract/text/quote.ts'
import type { Session } from '../postgres/session.ts'
import { sqlstateOf } from '../postgres/sqlstate.ts'
import type { Aggregation } from './aggregation.ts'
import { aggregatedRows, dimensionSql } from './aggregation.ts'
import { firstBytes } from './dataview-sql.ts'
import { wholeWorld } from './layer-sql.ts'
import type { LayerPlan } from './plan-layer.ts'
import { timeGroupParams } from './time-dimension.ts'

export type LayerStats = Readonly<Record<string, unknown>>

/** `aggregation`: of a layer whose tiles are aggregated. `dimensions`: that the layer asks for, aggregated or not. */
export type StatsQuestion = Readonly<{
  metadata: JsonObject
  plan: LayerPlan
  estimatedRows: number
  aggregation: Aggregation | null
  dimensions: Aggregation['dimensions']
  /** By the monotonic clock: a statistic that is not ready then is left out. */
  deadline: number
}>

/** What `metadata` of a layer asks for. */
export async function readStats(session: Session, question: StatsQuestion): Promise<LayerStats> {
  const { metadata, estimatedRows } = question
  const stats: Record<string, unknown> = { estimatedFeatureCount: estimatedRows }
  const ask = asking(session, question.deadline)
  const rows = question.plan.rows(wholeWorld).from
  if (metadata.featureCount) stats.featureCount = await ask(countSql(rows), ([row]) => Number(row!.n))
  if (typeof metadata.aggrFeatureCount === 'number')
    stats.aggrFeatureCount = await ask(aggregatedCountSql(question), ([row]) => Number(row!.n))
  if (metadata.geometryType)
    stats.geometryType = await ask(geometryTypeSql(question.plan), ([row]) => row?.type)
  if (metadata.columns || metadata.columnStats || metadata.dimensions)
    stats.columns = await readColumnStats(question, ask)
  if (metadata.dimensions) stats.dimensions = await readDimensions(question, ask)
  if (isJsonObject(metadata.sample) || metadata.sample === true)
    stats.sample = await ask(firstBytes(sampleSql(question)), (found) => found.map(({ row }) => row))
  return Object.fromEntries(Object.entries(stats).filter(([, value]) => value !== undefined))
}

type StatsRow = Record<string, unknown>
type Ask = <T>(sql: string, read: (rows: readonly StatsRow[]) => T) => Promise<T | undefined>

/** Undefined if the time is over, or the statement fails: the map is made without it. */
function asking(session: Session, deadline: number): Ask {
  return async (sql, read) => {
    const leftMs = Math.floor(deadline - performance.now())
    if (leftMs < 1) return undefined
    await session.query('begin isolation level repeatable read read only')
    await session.query(`set local statement_timeout = ${leftMs}`)
    try {
      return read((await session.query<StatsRow>(sql)).rows)
    } catch (error) {
      if (!/^[0-9A-Z]{5}$/.test(sqlstateOf(error) ?? '')) throw error
      return undefined
    } finally {
      await session.query('rollback')
    }
  }
}

const countSql = (rows: string) => `select pg_catalog.count(*) as n from ${rows} as t`

function aggregatedCountSql({ plan, aggregation, metadata }: StatsQuestion): string {
  const layer = plan.rows(wholeWorld)
  if (!aggregation) return countSql(layer.from)
  const zoom = Math.min(30, Math.max(0, Math.floor(metadata.aggrFeatureCount as number)))
  return countSql(aggregatedRows({ layer, properties: plan.properties }, aggregation, zoom).layer.from)
}

/** The geometry type of the first row with a geometry. */
export function geometryTypeSql(plan: LayerPlan): string {
  const { from, geometry } = plan.rows(wholeWorld)
  const g = `t.${quoteName(geometry.name)}`
  return `select postgis.st_geometrytype(${g}) as type from ${from} as t where ${g} is not null limit 1`
}

async function readColumnStats(
  { plan, metadata }: StatsQuestion,
  ask: Ask,
): Promise<Readonly<Record<string, unknown>>> {
  const columns = Object.fromEntries(
    Object.entries(plan.types).map(([name, type]): [string, Record<string, unknown>] => [name, { type }]),
  )
  const { columnStats } = metadata
  if (!columnStats) return columns
  const { from } = plan.rows(wholeWorld)
  const parts = Object.entries(plan.types).flatMap(([name, type], place) =>
    (aggregates[type] ?? []).map((called) => ({ name, called, as: `${called}_${place}` })),
  )
  const list = parts.map(({ name, called, as }) => `pg_catalog.${called}(t.${quoteName(name)}) as ${as}`)
  const found =
    parts.length === 0
      ? undefined
      : await ask(
          `select pg_catalog.to_jsonb(s.*) as row from (select ${list.join(', ')} from ${from} as t) as s`,
          ([row]) => row!.row as StatsRow,
        )
  for (const { name, called, as } of parts) if (found) columns[name]![called] = found[as]
  const options = isJsonObject(columnStats) ? columnStats : {}
  for (const [name, type] of Object.entries(plan.types))
    if (type === 'string')
      columns[name]!.categories = await ask(firstBytes(categoriesSql(from, name, options)), (rows) =>
        rows.map(({ row }) => row),
      )
  return columns
}

/** The first and the last period of those that group by time. Clients know the others by `type: null`. */
async function readDimensions(
  { plan, dimensions }: StatsQuestion,
  ask: Ask,
): Promise<Readonly<Record<string, unknown>>> {
  const { from } = plan.rows(wholeWorld)
  const periods = dimensions.flatMap(({ group, ...each }, place) =>
    group ? [{ ...each, group, place, sql: dimensionSql({ ...each, group }, plan.properties) }] : [],
  )
  const list = periods.flatMap(({ sql, place }) =>
    ['min', 'max'].map((called) => `pg_catalog.${called}(${sql}) as ${called}_${place}`),
  )
  const found =
    list.length === 0 ? undefined : await ask(`select ${list.join(', ')} from ${from} as t`, ([row]) => row)
  return Object.fromEntries(
    dimensions.map(({ name, column, group }, place) => {
      if (!group) return [name, { type: null }]
      const edge = (called: string) => {
        const value = found?.[`${called}_${place}`] ?? null
        return group.isIso || value === null ? value : Number(value)
      }
      const type = group.isIso ? 'string' : 'number'
      return [name, { params: timeGroupParams(group, column), type, min: edge('min'), max: edge('max') }]
    }),
  )
}

const aggregates: Readonly<Record<string, readonly string[]>> = {
  number: ['min', 'max', 'avg', 'sum'],
  date: ['min', 'max'],
}

function categoriesSql(from: string, name: string, { topCategories, includeNulls }: JsonObject): string {
  const most =
    typeof topCategories === 'number' && topCategories >= 1
      ? Math.min(mostCategories, Math.floor(topCategories))
      : 1024
  const where = includeNulls === false ? ` where t.${quoteName(name)} is not null` : ''
  return `select pg_catalog.to_jsonb(s.*) as row from (
    select t.${quoteName(name)} as category, pg_catalog.count(*) as frequency from ${from} as t${where} group by 1 order by 2 desc limit ${most}) as s`
}

const mostCategories = 32_768

/** Random rows, found by their ids where there are some. */
function sampleSql({ plan, metadata, estimatedRows }: StatsQuestion): string {
  const options = isJsonObject(metadata.sample) ? metadata.sample : {}
  const { num_rows: asked, include_columns: included } = options
  const most = typeof asked === 'number' && asked >= 1 ? Math.min(mostSampled, Math.floor(asked)) : 100
  const names = Array.isArray(included)
    ? included.filter((name) => typeof name === 'string')
    : Object.keys(plan.types)
  const { from, hasId } = plan.rows(wholeWorld)
  const columns = names.map((name) => `t.${quoteName(name)}`).join(', ')
  if (!hasId || estimatedRows <= most)
    return `select pg_catalog.to_jsonb(s.*) as row from (select ${columns} from ${from} as t limit ${most}) as s`
  return `with span as (select pg_catalog.min(t.cartodb_id)::pg_catalog.float8 as least, pg_catalog.max(t.cartodb_id)::pg_catalog.float8 as most from ${from} as t),
    ids as (select distinct pg_catalog.floor(span.least operator(pg_catalog.+) (pg_catalog.random() operator(pg_catalog.*) ((span.most operator(pg_catalog.-) span.least) operator(pg_catalog.+) 1)))::pg_catalog.int8 as id
      from span, pg_catalog.generate_series(1, ${most}))
  select pg_catalog.to_jsonb(s.*) as row from (select ${columns} from ${from} as t join ids on t.cartodb_id operator(pg_catalog.=) ids.id) as s`
}

const mostSampled = 10_000
