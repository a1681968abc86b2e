import { AppError, errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { toClientError } from '../postgres/wire/wire-error.ts'
import { inLayer } from '../tiles/in-layer.ts'
import type { Property } from '../tiles/tile-layer.ts'
import {
  type Aggregation,
  aggregatedRows,
  defaultThreshold,
  dimensionSql,
  readAggregation,
} from './aggregation.ts'
import { columnsSql } from './columns.ts'
import { shortened } from './config-text.ts'
import { wholeWorld } from './layer-sql.ts'
import { geometryTypeSql, type LayerStats, readStats } from './layer-stats.ts'
import type { LayerSource, MapLayer } from './map-config.ts'
import { type LayerPlan, planLayer } from './plan-layer.ts'

export type PlannedLayer = Readonly<{
  layer: MapLayer
  isAggregated: boolean
  stats: LayerStats
  /** Null for a layer without tiles. */
  plan: LayerPlan | null
  estimatedRows: number
  /** When its tables were last changed; 0 if that is not known. */
  changedMs: number
}>

/**
 * Plans each layer as the role of the session, and throws the first fault with its layer. Draws nothing. `deadline`: of the
 * statistics.
 */
export async function planLayers(
  session: Session,
  layers: readonly MapLayer[],
  deadline: number,
): Promise<readonly PlannedLayer[]> {
  const planned: PlannedLayer[] = []
  for (const layer of layers) {
    try {
      planned.push(await planOne(session, layer, deadline))
    } catch (error) {
      throw inLayer(layerError(error), layer)
    }
  }
  return planned
}

/** For the statistics of all layers of a map. */
export const statsMs = 5_000

async function planOne(session: Session, layer: MapLayer, deadline: number): Promise<PlannedLayer> {
  const { source } = layer
  if (!source) return { layer, isAggregated: false, stats: {}, plan: null, estimatedRows: 0, changedMs: 0 }
  await session.query('begin isolation level repeatable read read only')
  const plan = await planSource(session, source)
  const estimatedRows = await estimateRows(session, source)
  const isAggregated = await isAggregatedBy(session, source, plan, estimatedRows)
  requireColumns(source, plan)
  await requirePeriods(session, source, plan)
  if (isAggregated) await requireAggregable(session, source, plan)
  const changedMs = await lastChange(session, source)
  await session.query('rollback')
  const aggregation = isAggregated ? aggregationOf(source) : null
  const { metadata } = source
  const dimensions = source.aggregation ? source.aggregation.dimensions : []
  const question = { metadata, plan, estimatedRows, aggregation, dimensions, deadline }
  const stats = await readStats(session, question)
  return { layer, isAggregated, stats, plan, estimatedRows, changedMs }
}

/** carto.js names aggregated columns among the attributes. They belong to no row, so they can be named but not read. */
function requireColumns({ attributes, aggregation }: LayerSource, { types }: LayerPlan): void {
  const wanted = attributes ? [attributes.id, ...attributes.columns] : []
  const aggregated = new Set(aggregation ? aggregation.columns.map(({ name }) => name) : [])
  const missing = wanted.find((name) => !Object.hasOwn(types, name) && !aggregated.has(name))
  if (missing !== undefined) throw errors.mapInvalid(`column "${shortened(missing)}" does not exist`)
}

/** Time zones are known to the database alone. */
async function requirePeriods(
  session: Session,
  { aggregation }: LayerSource,
  plan: LayerPlan,
): Promise<void> {
  const grouped = (aggregation ? aggregation.dimensions : []).filter(({ group }) => group)
  for (const dimension of grouped) dimensionSql(dimension, plan.properties)
  const zones = grouped.flatMap(({ group }) => (typeof group!.timezone === 'string' ? [group!.timezone] : []))
  if (zones.length > 0)
    await session.query(
      'select pg_catalog.timezone(z, pg_catalog.to_timestamp(0)) from pg_catalog.unnest($1::pg_catalog.text[]) as z',
      [zones],
    )
}

/** Each tile would fail if the aggregation names no column, or one of a wrong type. Reads no row. */
async function requireAggregable(session: Session, source: LayerSource, plan: LayerPlan): Promise<void> {
  const rows = { layer: plan.rows(wholeWorld), properties: plan.properties }
  const { layer } = aggregatedRows(rows, aggregationOf(source), wholeWorld)
  await session.query(`select from ${layer.from} as t limit 0`)
}

async function planSource(session: Session, source: LayerSource): Promise<LayerPlan> {
  const { fields } = await session.query(columnsSql(source.sql, wholeWorld))
  return planLayer(session, source, fields)
}

/** Only of tables that record their changes. */
async function lastChange(session: Session, { names }: LayerSource): Promise<number> {
  if (!names || names.relations.length === 0) return 0
  const { rows } = await session.query<{ ms: number | null }>(
    `select case when pg_catalog.count(*) operator(pg_catalog.=) pg_catalog.count(m.updated_at)
       then pg_catalog.floor(pg_catalog.max(pg_catalog.date_part('epoch', m.updated_at)) operator(pg_catalog.*) 1000) end as ms
     from pg_catalog.unnest($1::pg_catalog.text[]) as n
     left join cartodb.CDB_TableMetadata as m on m.tabname::pg_catalog.oid operator(pg_catalog.=) pg_catalog.to_regclass(n)::pg_catalog.oid`,
    [names.relations],
  )
  return rows[0]?.ms ?? 0
}

async function estimateRows(session: Session, { sql }: LayerSource): Promise<number> {
  const { rows } = await session.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select * from ${sql(wholeWorld)} as t`,
  )
  return rows[0]!['QUERY PLAN'][0].Plan['Plan Rows']
}

/** Only points are aggregated, and only where there are many. */
async function isAggregatedBy(
  session: Session,
  source: LayerSource,
  plan: LayerPlan,
  estimatedRows: number,
): Promise<boolean> {
  const { aggregation, isAggregable } = source
  if (!isAggregable || aggregation === false) return false
  if (estimatedRows < (aggregation?.threshold ?? defaultThreshold)) return false
  const { type } = plan.rows(wholeWorld).geometry
  if (type !== 'GEOMETRY') return type.startsWith('POINT')
  const { rows } = await session.query<{ type: string }>(geometryTypeSql(plan))
  return rows[0]?.type === 'ST_Point'
}

/** What the features of its tiles tell. */
export function propertiesOf({ layer, plan, isAggregated }: PlannedLayer): readonly Property[] {
  if (!plan || !layer.source) return []
  if (!isAggregated) return plan.properties
  const rows = { layer: plan.rows(wholeWorld), properties: plan.properties }
  return aggregatedRows(rows, aggregationOf(layer.source), wholeWorld).properties
}

export const aggregationOf = ({ aggregation }: LayerSource) =>
  aggregation || (readAggregation(true) as Aggregation)

/** A relation that is not there is 404. A cancel is for those to explain who know the limits. */
export function layerError(error: unknown): unknown {
  if (hasSqlstate(error, sqlstate.queryCanceled)) return error
  const told = toClientError(error)
  if (told.extras.sqlstate !== sqlstate.undefinedTable) return told
  return new AppError(told.code, 'not-found', told.message, told.extras)
}
