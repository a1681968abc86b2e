import { isJsonObject, type JsonObject } from '../contract/text/json-object.ts'
import { quoteLiteral, quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { Property, PropertyKind } from '../tiles/tile-layer.ts'
import { type DrawnLayer, inMercator, isInTile, sizeOf } from '../tiles/tile-sql.ts'
import { shortened } from './config-text.ts'
import { pixelsOfTile, type TileView, worldEdge } from './layer-sql.ts'
import { readTimeGroup, type TimeGroup, timeGroupKind, timeGroupSql } from './time-dimension.ts'

const functions = ['count', 'avg', 'sum', 'min', 'max', 'mode'] as const
const placements = ['centroid', 'point-grid', 'point-sample'] as const

/** As an aggregated column: rows are counted, whatever their columns have. */
const allRows = '*'

export type AggregatedColumn = Readonly<{
  name: string
  function: (typeof functions)[number]
  column: string
}>

/** Points of different values of it stay apart. `group`: by periods of time. */
export type Dimension = Readonly<{ name: string; column: string; group: TimeGroup | undefined }>

/** Points of one cell become one point. */
export type Aggregation = Readonly<{
  /** A layer with fewer rows shows all its points. */
  threshold: number
  /** The side of a cell, in pixels of a tile of 256. */
  resolution: number
  placement: (typeof placements)[number]
  columns: readonly AggregatedColumn[]
  dimensions: readonly Dimension[]
  filters: readonly Readonly<{ name: string; anyOf: readonly JsonObject[] }>[]
  /** Nothing was asked for: a row of each cell is shown with all its columns. */
  isSample: boolean
}>

export const defaultThreshold = 100_000

/** Undefined: by the number of its points. */
export function readAggregation(raw: unknown): Aggregation | false | undefined {
  if (raw === undefined || raw === null || raw === false) return raw === false ? false : undefined
  const given = raw === true ? {} : raw
  if (!isJsonObject(given)) throw errors.mapInvalid('aggregation must be an object, true or false')
  const columns = entriesOf(given, 'columns').map(readColumn)
  const dimensions = entriesOf(given, 'dimensions').map(readDimension)
  const filters = entriesOf(given, 'filters').map(([name, value]) =>
    readFilter(name, value, [...columns, ...dimensions]),
  )
  const { placement } = given
  if (placement !== undefined && !placements.some((each) => each === placement))
    throw errors.mapInvalid(`Invalid placement. Valid values: ${placements.join(', ')}`)
  const names = [...columns, ...dimensions].map(({ name }) => name)
  const twice = [...names, ...ownNames].find((name, at, all) => all.indexOf(name) !== at)
  if (twice !== undefined)
    throw errors.mapInvalid(`Two columns of the aggregation are named ${shortened(twice)}`)
  return {
    threshold: positiveOf(given, 'threshold', defaultThreshold),
    resolution: positiveOf(given, 'resolution', 1),
    placement: (placement as Aggregation['placement'] | undefined) ?? 'point-sample',
    columns,
    dimensions,
    filters,
    isSample:
      placement === undefined && given.columns === undefined && dimensions.length + filters.length === 0,
  }
}

/** What every aggregated point has, besides the id of one of its rows. */
const countName = '_cdb_feature_count'
const geometryName = 'the_geom_webmercator'
const ownNames = [countName, geometryName, 'cartodb_id']

function entriesOf(given: JsonObject, name: string): [string, unknown][] {
  const value = given[name] ?? {}
  if (!isJsonObject(value)) throw errors.mapInvalid(`Invalid ${name}, should be an object`)
  return Object.entries(value)
}

function positiveOf(given: JsonObject, name: string, fallback: number): number {
  const value = given[name] ?? fallback
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw errors.mapInvalid(`Invalid ${name}, should be a number greather than 0`)
}

function readColumn([name, value]: [string, unknown]): AggregatedColumn {
  const { aggregate_function: called, aggregated_column: column } = isJsonObject(value)
    ? value
    : ({} as JsonObject)
  const known = functions.find((each) => each === called)
  if (name === '') throw errors.mapInvalid('Invalid column name, should be a non empty string')
  if (!known)
    throw errors.mapInvalid(
      `Unsupported aggregation function ${shortened(called)}, valid ones: ${functions.join(', ')}`,
    )
  if (typeof column !== 'string' || column === '')
    throw errors.mapInvalid('Invalid aggregated column, should be a non empty string')
  if (column === allRows && known !== 'count')
    throw errors.mapInvalid(`Invalid aggregated column, ${known} needs a column: only count can be of *`)
  return { name, function: known, column }
}

function readDimension([name, value]: [string, unknown]): Dimension {
  const given: JsonObject = isJsonObject(value) ? value : { column: value }
  const { column } = given
  if (typeof column !== 'string' || column === '' || name === '')
    throw errors.mapInvalid(`Invalid dimension ${shortened(name)}, should name a column`)
  return { name, column, group: readTimeGroup(name, given) }
}

function readFilter(
  name: string,
  value: unknown,
  known: readonly Readonly<{ name: string }>[],
): Aggregation['filters'][number] {
  if (!known.some((each) => each.name === name))
    throw errors.mapInvalid(`Invalid filtered column: ${shortened(name)}`)
  const anyOf = [value].flat()
  for (const filter of anyOf) {
    if (!isJsonObject(filter)) throw errors.mapInvalid(`Invalid filter of ${shortened(name)}`)
    const wrong = Object.keys(filter).find((each) => !Object.hasOwn(comparisons, each) && !lists.has(each))
    if (wrong !== undefined) throw errors.mapInvalid(`Invalid filter parameter name: ${shortened(wrong)}`)
    for (const [key, compared] of Object.entries(filter)) literalsOf(key, compared)
  }
  return { name, anyOf: anyOf as JsonObject[] }
}

const comparisons: Readonly<Record<string, string>> = {
  less_than: '<',
  less_than_or_equal_to: '<=',
  greater_than: '>',
  greater_than_or_equal_to: '>=',
  equal: '=',
  not_equal: '<>',
}
const lists: ReadonlySet<string> = new Set(['in', 'not_in'])

/** The values of a comparison as literals. */
function literalsOf(key: string, value: unknown): readonly string[] {
  const all = lists.has(key) ? value : [value]
  if (!Array.isArray(all)) throw errors.mapInvalid(`The filter ${key} needs a list`)
  return all.map((each: unknown) => {
    if (typeof each === 'number' && Number.isFinite(each)) return String(each)
    if (typeof each === 'boolean') return String(each)
    if (typeof each === 'string') return quoteLiteral(each)
    throw errors.mapInvalid(`The filter ${key} needs numbers or texts`)
  })
}

export type AggregatedRows = Readonly<{ layer: DrawnLayer; properties: readonly Property[] }>

/**
 * The aggregated points of a view, all of the world if it is undefined. The cells are those of the whole world, and only whole
 * cells are counted, so that neighbouring tiles agree.
 */
export function aggregatedRows(
  { layer, properties }: AggregatedRows,
  aggregation: Aggregation,
  view: TileView | number,
): AggregatedRows {
  const z = typeof view === 'number' ? view : view.place.z
  const cell = (sizeOf({ z, x: 0, y: 0 }) * aggregation.resolution) / pixelsOfTile
  const g = inMercator(layer.geometry, 't')
  // A geometry that must be transformed is so once: without the OFFSET wherever it is named.
  const placed = layer.geometry.srid === 3857 ? `(select ${g} as g) as p` : `(select ${g} as g offset 0) as p`
  const rows = `${layer.from} as t cross join lateral (select p.g, ${cellOf('x', 'p.g', cell)} as cx, ${cellOf('y', 'p.g', cell)} as cy from ${placed}) as c
    where ${typeof view === 'number' ? `${g} is not null` : inWholeCells(layer, view, cell)}`
  const geometry = { name: geometryName, srid: 3857, type: 'POINT' }
  const count = { name: countName, kind: 'integer' } as const
  if (aggregation.isSample)
    return {
      layer: { ...layer, kind: 'q', geometry, from: sampleRows(layer, properties, rows) },
      properties: [...properties.filter(({ name }) => name !== countName), count],
    }
  const id = layer.hasId ? [{ name: 'cartodb_id', kind: 'integer' } as const] : []
  const kinds = kindsOf(properties, aggregation)
  return {
    layer: {
      ...layer,
      kind: 'q',
      geometry,
      from: groupedRows(layer, aggregation, rows, cell, { kinds, properties }),
    },
    properties: [...id, count, ...kinds],
  }
}

const cellOf = (axis: 'x' | 'y', g: string, cell: number) =>
  `pg_catalog.floor(postgis.st_${axis}min(${g}) operator(pg_catalog./) ${cell})`

/** The cells that the view touches. */
function inWholeCells(layer: DrawnLayer, { place, margin }: TileView, cell: number): string {
  const size = sizeOf(place)
  const west = place.x * size - worldEdge
  const north = worldEdge - place.y * size
  const from = (edge: number) => Math.floor((edge - margin * size) / cell)
  const to = (edge: number) => Math.ceil((edge + margin * size) / cell)
  // Wide enough for cells that begin outside of the view.
  const grid = { extent: 1, buffer: margin + (2 * cell) / size, simplifiedCells: null }
  const within = (name: string, least: number, most: number) =>
    `c.${name} operator(pg_catalog.>=) ${least} and c.${name} operator(pg_catalog.<) ${most}`
  return `${isInTile({ layer, place, grid }, 't')} and ${within('cx', from(west), to(west + size))} and ${within('cy', from(north - size), to(north))}`
}

/** A row of each cell, with all its columns. */
function sampleRows(layer: DrawnLayer, properties: readonly Property[], rows: string): string {
  const columns = (t: string) =>
    properties
      .filter(({ name }) => name !== countName)
      .map(({ name }) => `${t}.${quoteName(name)}`)
      .join(', ')
  const listed = columns('s') && `${columns('s')}, `
  if (!layer.hasId)
    return `(select distinct on (c.cx, c.cy) ${listed.replaceAll('s."', 't."')}c.g as ${geometryName}, pg_catalog.count(*) over (partition by c.cx, c.cy) as ${countName} from ${rows})`
  return `(select ${listed}${inMercator(layer.geometry, 's')} as ${geometryName}, a.n as ${countName}
    from (select pg_catalog.min(t.cartodb_id) as id, pg_catalog.count(*) as n from ${rows} group by c.cx, c.cy) as a
    join ${layer.from} as s on s.cartodb_id operator(pg_catalog.=) a.id)`
}

function groupedRows(
  layer: DrawnLayer,
  { placement, columns, dimensions, filters }: Aggregation,
  rows: string,
  cell: number,
  { kinds, properties }: Readonly<{ kinds: readonly Property[]; properties: readonly Property[] }>,
): string {
  const divided = dimensions.map((each): [string, string] => [each.name, dimensionSql(each, properties)])
  const expressions = new Map([
    ...columns.map((each): [string, string] => [each.name, expressionOf(each)]),
    ...divided,
  ])
  const made = kinds.map(({ name }) => `${expressions.get(name)!} as ${quoteName(name)}`)
  const having = filters.map(({ name, anyOf }) => conditionOf(expressions.get(name)!, anyOf))
  const groups = ['c.cx', 'c.cy', ...divided.map(([, sql]) => sql)]
  const columnsMade = [
    `${pointOf(placement, layer, cell)} as ${geometryName}`,
    ...(layer.hasId ? ['pg_catalog.min(t.cartodb_id) as cartodb_id'] : []),
    `pg_catalog.count(*) as ${countName}`,
    ...made,
  ]
  return `(select ${columnsMade.join(', ')} from ${rows} group by ${groups.join(', ')}${having.length > 0 ? ` having ${having.join(' and ')}` : ''})`
}

function pointOf(placement: Aggregation['placement'], { hasId }: DrawnLayer, cell: number): string {
  const at = (x: string, y: string) => `postgis.st_setsrid(postgis.st_makepoint(${x}, ${y}), 3857)`
  if (placement === 'centroid')
    return at('pg_catalog.avg(postgis.st_xmin(c.g))', 'pg_catalog.avg(postgis.st_ymin(c.g))')
  const middle = (name: string) => `(c.${name} operator(pg_catalog.+) 0.5) operator(pg_catalog.*) ${cell}`
  if (placement === 'point-grid') return at(middle('cx'), middle('cy'))
  return `(pg_catalog.array_agg(c.g${hasId ? ' order by t.cartodb_id' : ''}))[1]`
}

function expressionOf({ function: called, column }: AggregatedColumn): string {
  if (column === allRows) return 'pg_catalog.count(*)'
  const name = `t.${quoteName(column)}`
  if (called === 'mode') return `pg_catalog.mode() within group (order by ${name})`
  const isNumber = called === 'avg' || called === 'sum'
  return `pg_catalog.${called}(${name})${isNumber ? '::pg_catalog.float8' : ''}`
}

/** The value of a dimension, of a row `t`. */
export function dimensionSql({ column, group }: Dimension, properties: readonly Property[]): string {
  const kind = kindOfColumn(properties, column)
  if (!group) return `t.${quoteName(column)}`
  if (!timeKinds.has(kind))
    throw errors.mapInvalid(`column "${shortened(column)}" is neither date nor number`)
  return timeGroupSql(group, column, kind)
}

const timeKinds: ReadonlySet<PropertyKind> = new Set(['date', 'integer', 'float', 'numeric'])

function kindOfColumn(properties: readonly Property[], column: string): PropertyKind {
  const found = properties.find(({ name }) => name === column)
  if (found) return found.kind
  throw errors.mapInvalid(`column "${shortened(column)}" does not exist`)
}

function kindsOf(properties: readonly Property[], { columns, dimensions }: Aggregation): readonly Property[] {
  const kindOf = (column: string) => kindOfColumn(properties, column)
  const kindOfResult = ({ function: called, column }: AggregatedColumn): PropertyKind => {
    if (called === 'count') return 'integer'
    return called === 'avg' || called === 'sum' ? 'float' : kindOf(column)
  }
  return [
    ...columns.map((each) => ({ name: each.name, kind: kindOfResult(each) })),
    ...dimensions.map(({ name, column, group }) => ({
      name,
      kind: group ? timeGroupKind(group) : kindOf(column),
    })),
  ]
}

function conditionOf(expression: string, anyOf: readonly JsonObject[]): string {
  const each = anyOf.map((filter) => {
    const parts = Object.entries(filter).map(([key, value]) => {
      const compare = (operator: string, literal: string) =>
        `${expression} operator(pg_catalog.${operator}) ${literal}`
      const literals = literalsOf(key, value)
      if (key === 'in') return `(${literals.map((literal) => compare('=', literal)).join(' or ') || 'false'})`
      if (key === 'not_in')
        return `(${literals.map((literal) => compare('<>', literal)).join(' and ') || 'true'})`
      return compare(comparisons[key]!, literals[0]!)
    })
    return parts.join(' and ') || 'true'
  })
  return `(${each.map((condition) => `(${condition})`).join(' or ')})`
}
