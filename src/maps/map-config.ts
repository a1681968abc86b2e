import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '../contract/text/json-object.ts'
import { errors } from '../errors.ts'
import { namesInQuery, type QueryNames } from '../sql/query-names.ts'
import { lexemes, textOf } from '../sql-text/lexemes.ts'
import { inLayer } from '../tiles/in-layer.ts'
import { type Aggregation, readAggregation } from './aggregation.ts'
import { type Attributes, readAttributes } from './attributes.ts'
import { shortened } from './config-text.ts'
import { type Dataview, readDataview } from './dataview.ts'
import { type LayerSql, maxSqlLength, pixelsOfTile, readLayerSql, wholeWorld } from './layer-sql.ts'
import { type ColumnFilter, readColumnFilter } from './rows-filter.ts'

export type CheckedMapConfig = Readonly<{
  minzoom: number
  maxzoom: number
  /** Pixels around a tile of 256 pixels, on each side. */
  bufferPixels: number
  extent: number
  simplifyExtent: number
  /** Clients that need only dataviews send none. */
  layers: readonly MapLayer[]
  /** Their ids. */
  analyses: readonly string[]
  dataviews: readonly Dataview[]
  /** The filters of the dataviews with which the map was made. */
  filters: readonly ColumnFilter[]
}>

export type MapLayer = Readonly<{
  id: string
  index: number
  /** `mapnik`: a layer with tiles. The others are only listed. */
  type: string
  /** The template whose key reads the layer; null: the key of the map. */
  template: LayerTemplate | null
  attribution: string | undefined
  /** Null for a layer without tiles. */
  source: LayerSource | null
}>

/** A template inside of another map. */
export type LayerTemplate = Readonly<{ name: string; revision: string }>

export type LayerSource = Readonly<{
  sql: LayerSql
  /** On which its rows depend; undefined: they may differ each time. */
  names: QueryNames | undefined
  geomColumn: string
  srid: number
  minzoom: number
  maxzoom: number
  /** Undefined: by the number of its points. */
  aggregation: Aggregation | false | undefined
  /** False: its points are shown as they are, whatever `aggregation` says. */
  isAggregable: boolean
  metadata: JsonObject
  attributes: Attributes | null
  /** The filters of the dataviews of the same analysis. */
  filters: readonly ColumnFilter[]
  datesAsNumbers: boolean
  hasCartocss: boolean
}>

/**
 * Reads what a client has sent; throws on the first fault. To parse all its SQL may take seconds: others have their turn between.
 * `templates`: of the layers by their place.
 */
export async function readMapConfig(
  raw: unknown,
  templates: readonly (LayerTemplate | null)[] = [],
): Promise<CheckedMapConfig> {
  const reading = readInSteps(raw, templates)
  for (;;) {
    const { done, value } = reading.next()
    if (done) return value
    await setImmediate()
  }
}

function* readInSteps(
  raw: unknown,
  templates: readonly (LayerTemplate | null)[],
): Generator<undefined, CheckedMapConfig> {
  if (!isJsonObject(raw)) throw errors.mapInvalid('The map config must be a JSON object')
  requireVersion(raw.version)
  if (!Array.isArray(raw.layers)) throw errors.mapInvalid('Missing layers array from layergroup config')
  if (raw.layers.length > mostLayers) throw tooManyLayers()
  const analyses = readAnalyses(raw.analyses)
  const types = raw.layers.map((layer: unknown, index) => typeOf(layer, index))
  const dataviews = yield* readDataviews(raw.dataviews, analyses)
  const filters = readFilters(raw.filters, dataviews)
  const isAggregable = raw.aggregation !== false
  const sources = { read: new Map(), analyses, dataviews, filters, templates, isAggregable }
  const layers: MapLayer[] = []
  for (const [index, layer] of raw.layers.entries()) {
    yield
    layers.push(readLayer(layer as JsonObject, index, types, sources))
  }
  if (new Set(layers.map(({ id }) => id)).size < layers.length)
    throw errors.mapInvalid('Two layers have the same id')
  const options = raw.layers.map((layer: unknown) => (layer as { options: JsonObject }).options)
  return {
    ...zoomsOf(raw),
    bufferPixels: bufferOf(raw.buffersize),
    ...extentsOf(options),
    layers,
    analyses: [...analyses.keys()],
    dataviews,
    filters,
  }
}

/** Without what tells who asks. */
export function withoutCredentials(raw: unknown): unknown {
  if (!isJsonObject(raw)) return raw
  const { api_key: _key, map_key: _mapKey, client: _client, ...rest } = raw
  return rest
}

/** The same config as another map, which shows the points of all layers as they are. */
export const withoutAggregation = (raw: unknown): unknown =>
  isJsonObject(raw) ? { ...raw, aggregation: false } : raw

/** The same for the same config. */
export const mapIdOf = (config: string, revision: string | null) =>
  createHash('sha256')
    .update(revision === null ? config : `${revision} ${config}`)
    .digest('hex')
    .slice(0, 32)

export const mostLayers = 20
export const tooManyLayers = () => errors.mapInvalid(`A map has at most ${mostLayers} layers`)
const mostAnalyses = 20
export const deepestZoom = 30

function requireVersion(version: unknown): void {
  if (version === undefined || version === '1.8.0') return
  if (typeof version !== 'string' || !/^1\.[0-7]\.\d+$/.test(version))
    throw errors.mapInvalid(`Unsupported layergroup configuration version ${shortened(version)}`)
}

/** The SQL of each, by its id. */
export function readAnalyses(raw: unknown): ReadonlyMap<string, string> {
  const all = raw ?? []
  if (!Array.isArray(all)) throw errors.mapInvalid('analyses must be an array')
  if (all.length > mostAnalyses) throw errors.mapInvalid(`A map has at most ${mostAnalyses} analyses`)
  return new Map(
    all.map((analysis: unknown): [string, string] => {
      const { id, type, params } = isJsonObject(analysis) ? analysis : ({} as JsonObject)
      if (type !== 'source')
        throw errors.mapInvalid(`Unsupported analysis ${shortened(type)}: this server has only source`)
      const query = isJsonObject(params) ? params.query : undefined
      if (typeof id !== 'string' || !id.isWellFormed() || typeof query !== 'string')
        throw errors.mapInvalid('An analysis of type source needs an id and params.query')
      return [id, query]
    }),
  )
}

type Sources = Readonly<{
  /** The SQL that was read, by its text: many layers may have the same. */
  read: Map<string, NamedSql>
  analyses: ReadonlyMap<string, string>
  dataviews: readonly Dataview[]
  filters: readonly ColumnFilter[]
  templates: readonly (LayerTemplate | null)[]
  isAggregable: boolean
}>

function* readDataviews(
  raw: unknown,
  analyses: ReadonlyMap<string, string>,
): Generator<undefined, readonly Dataview[]> {
  if (raw === undefined || raw === null) return []
  if (!isJsonObject(raw)) throw errors.dataviewInvalid('"dataviews" must be a valid JSON object')
  const entries = Object.entries(raw)
  if (entries.length > mostDataviews)
    throw errors.dataviewInvalid(`A map has at most ${mostDataviews} dataviews`)
  if (!entries.every(([name]) => name.isWellFormed()))
    throw errors.dataviewInvalid('The name of a dataview must be valid Unicode')
  const sources = new Map<string, LayerSql>()
  for (const [id, query] of analyses) {
    yield
    sources.set(id, readLayerSql(query))
  }
  return entries.map(([name, dataview]) => readDataview(name, dataview, sources))
}

const mostDataviews = 100

/** `{"dataviews":{"name":{"accept":[...]}}}`. */
function readFilters(raw: unknown, dataviews: readonly Dataview[]): readonly ColumnFilter[] {
  const given = isJsonObject(raw) && isJsonObject(raw.dataviews) ? raw.dataviews : {}
  return Object.entries(given).flatMap(([name, filter]) => {
    const dataview = dataviews.find((each) => each.name === name)
    if (!dataview)
      throw errors.dataviewInvalid(`Invalid filter: dataview "${shortened(name)}" does not exist`)
    return [readColumnFilter(name, String(dataview.options.column), filter)]
  })
}

/** The filters of the dataviews with the same analysis as this layer. */
function filtersOf({ sql, source }: JsonObject, { dataviews, filters }: Sources): readonly ColumnFilter[] {
  const id = isJsonObject(source) && typeof sql !== 'string' ? source.id : undefined
  const own = dataviews.filter(({ sourceId }) => sourceId === id).map(({ name }) => name)
  return filters.filter(({ dataview }) => own.includes(dataview))
}

function typeOf(layer: unknown, index: number): string {
  if (!isJsonObject(layer) || !isJsonObject(layer.options))
    throw errors.mapInvalid(`Missing options from layer ${index} of layergroup config`)
  const { type = 'mapnik' } = layer
  if (type === 'cartodb' || type === 'mapnik') return 'mapnik'
  if (type === 'http' || type === 'plain') return type
  throw errors.mapInvalid(
    `Unsupported type ${shortened(type)} of layer ${index}: this server makes vector tiles of mapnik layers`,
  )
}

function readLayer(layer: JsonObject, index: number, types: readonly string[], sources: Sources): MapLayer {
  const type = types[index]!
  const place = types.slice(0, index).filter((other) => other === type).length
  const id = layer.id ?? `${type === 'mapnik' ? '' : `${type}-`}layer${place}`
  if (typeof id !== 'string' || id === '' || id.length > 255 || id.includes(',') || !id.isWellFormed())
    throw errors.mapInvalid(`The id of layer ${index} must be text without a comma`)
  const options = layer.options as JsonObject
  const attribution = typeof options.attribution === 'string' ? options.attribution : undefined
  const read = { id, index, type, template: sources.templates[index] ?? null, attribution }
  if (type !== 'mapnik') return { ...read, source: null }
  try {
    return { ...read, source: readSource(options, index, sources) }
  } catch (error) {
    throw inLayer(error, { id, index, type })
  }
}

function readSource(options: JsonObject, index: number, sources: Sources): LayerSource {
  const { geom_column: geomColumn = 'the_geom_webmercator', srid = 3857, metadata = {} } = options
  if (typeof geomColumn !== 'string' || geomColumn === '')
    throw errors.mapInvalid('geom_column must be the name of a column')
  if (!isWhole(srid, 1, 998_999)) throw errors.mapInvalid('srid must be the number of a reference system')
  if (!isJsonObject(metadata)) throw errors.mapInvalid('metadata must be an object')
  return {
    ...namedSql(wrapped(textOfLayer(options, index, sources.analyses), options.sql_wrap), sources.read),
    // As clients write it in SQL.
    geomColumn: geomColumn.replace(/^"(.*)"$/s, '$1'),
    srid,
    ...zoomsOf(options),
    aggregation: readAggregation(options.aggregation),
    isAggregable: sources.isAggregable,
    metadata,
    attributes: readAttributes(options.attributes),
    filters: filtersOf(options, sources),
    datesAsNumbers: options.dates_as_numbers === true,
    hasCartocss: typeof options.cartocss === 'string',
  }
}

type NamedSql = Pick<LayerSource, 'sql' | 'names'>

function namedSql(text: string, read: Map<string, NamedSql>): NamedSql {
  const known = read.get(text)
  if (known) return known
  const characters = [...read.keys()].reduce((sum, { length }) => sum + length, text.length)
  if (characters > 4 * maxSqlLength)
    throw errors.mapInvalid(`The sql of all layers is longer than ${4 * maxSqlLength} characters`)
  const sql = readLayerSql(text)
  const named = { sql, names: namesInQuery(sql(wholeWorld)) }
  read.set(text, named)
  return named
}

/** Its SQL, or that of its analysis. */
export function textOfLayer(
  { sql, source }: JsonObject,
  index: number,
  analyses: ReadonlyMap<string, string>,
): string {
  if (typeof sql === 'string' && sql.trim() !== '') return sql
  const id = isJsonObject(source) ? source.id : undefined
  const found = typeof id === 'string' ? analyses.get(id) : undefined
  if (found !== undefined) return found
  if (id !== undefined)
    throw errors.mapInvalid(`Missing analysis node.id='${shortened(id)}' for layer=${index}`)
  throw errors.mapInvalid(`Missing sql for layer ${index} options`)
}

/** Only a `<%= sql %>` of the wrap itself counts: one inside a literal may come from a viewer of a named map. */
function wrapped(sql: string, wrap: unknown): string {
  if (wrap === undefined) return sql
  if (typeof wrap !== 'string') throw errors.mapInvalid('sql_wrap must be text with <%= sql %>')
  if (wrap.length > maxSqlLength) throw tooLong()
  const parts = [...lexemes(wrap, sqlHole)]
  const holes = parts.filter(({ kind }) => kind === 'hole').length
  if (wrap.length + holes * sql.length > maxSqlLength) throw tooLong()
  const inner = sql.replace(/;\s*$/, '')
  return parts.map((part) => (part.kind === 'hole' ? inner : textOf(part))).join('')
}

const sqlHole = /<%=\s*sql\s*%>/
const tooLong = () =>
  errors.mapInvalid(`The sql of a layer in its sql_wrap is longer than ${maxSqlLength} characters`)

export function zoomsOf({ minzoom, maxzoom }: JsonObject): Readonly<{ minzoom: number; maxzoom: number }> {
  const known = (value: unknown, name: string, fallback: number) => {
    if (value === undefined || value === null) return fallback
    if (typeof value === 'number' && Number.isFinite(value)) return value
    throw errors.mapInvalid(`${name} must be a number`)
  }
  return { minzoom: known(minzoom, 'minzoom', 0), maxzoom: known(maxzoom, 'maxzoom', deepestZoom) }
}

function bufferOf(buffersize: unknown): number {
  const pixels = isJsonObject(buffersize) ? (buffersize.mvt ?? defaultBuffer) : defaultBuffer
  if (typeof pixels !== 'number') throw errors.mapInvalid('Buffer size of format "mvt" must be a number')
  if (pixels >= 0 && pixels <= pixelsOfTile) return pixels
  throw errors.mapInvalid(`Buffer size of format "mvt" must be from 0 to ${pixelsOfTile}`)
}

const defaultBuffer = 64

/** One for all layers. */
function extentsOf(options: readonly JsonObject[]): Pick<CheckedMapConfig, 'extent' | 'simplifyExtent'> {
  const given =
    sameIn(options, ({ vector_extent }) => vector_extent ?? defaultExtent, 'extent') ?? defaultExtent
  const isGiven = options.some(({ vector_extent }) => vector_extent !== undefined)
  if (!isWhole(given, 256, 8192))
    throw errors.mapInvalid('Invalid vector_extent. Must be between 256 and 8192')
  const fallback = isGiven ? given : defaultSimplifyExtent
  const simplify =
    sameIn(options, (each) => each.vector_simplify_extent ?? fallback, 'simplify extent') ?? fallback
  if (isWhole(simplify, 1, given)) return { extent: given, simplifyExtent: simplify }
  throw errors.mapInvalid(
    `Invalid vector_simplify_extent (${shortened(simplify)}). Must be between 1 and vector_extent [${given}]`,
  )
}

const defaultExtent = 4096
const defaultSimplifyExtent = 256

/** Undefined if there are none. */
function sameIn(options: readonly JsonObject[], read: (each: JsonObject) => unknown, name: string): unknown {
  const values = [...new Set(options.map(read))]
  if (values.length > 1)
    throw errors.mapInvalid(`Multiple ${name} values in mapConfig (${shortened(values)})`)
  return values[0]
}

const isWhole = (value: unknown, least: number, most: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
