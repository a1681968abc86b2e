import { LRUCache } from 'lru-cache'
import type { Account, Principal } from '../auth/account.ts'
import type { Directory } from '../auth/directory.ts'
import type { Config } from '../config/config.ts'
import type { TilePlace } from '../contract/documents.ts'
import type { JsonObject } from '../contract/text/json-object.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import type { Session } from '../postgres/session.ts'
import type { Secrets } from '../secrets.ts'
import { type Bounds, boundsOf } from '../tiles/describe-layers.ts'
import { lookUpVersion, type QueryVersion, versionOfAll } from '../tiles/query-version.ts'
import type { Tile, TileClient, TilePart, Tiles } from '../tiles/tiles.ts'
import { readFeature } from './attributes.ts'
import { chooseLayer, chooseLayers, type TiledLayer } from './choose-layers.ts'
import { columnsSql, findGeometry } from './columns.ts'
import { letOthersIn, textOfConfig } from './config-text.ts'
import { computeDataview } from './dataview.ts'
import type { DataviewRequest } from './dataview-sql.ts'
import { drawMapTile, type KnownPlans } from './draw-map-tile.ts'
import { readLayerSql, wholeWorld } from './layer-sql.ts'
import {
  type CheckedMapConfig,
  type MapLayer,
  mapIdOf,
  withoutAggregation,
  withoutCredentials,
} from './map-config.ts'
import { deleteExpiredMaps, findMap, saveMap } from './map-store.ts'
import { type FoundTemplates, NamedLayers, type ReadConfig, type ReaderOf } from './named/named-layers.ts'
import type { LayerPlan } from './plan-layer.ts'
import { layerError, type PlannedLayer, planLayers, statsMs } from './plan-map.ts'

type MapsParts = Readonly<{
  config: Config
  databases: Databases
  tiles: Tiles
  directory: Directory
  secrets: Secrets
}>

/** A map that was instantiated. */
export type InstantiatedMap = Readonly<{
  id: string
  config: CheckedMapConfig
  layers: readonly PlannedLayer[]
  /** When its tables were last changed, as far as that is known; else 0. */
  changedMs: number
  readerOf: ReaderOf
  /** The tokens that opened the named maps in it. */
  tokens: readonly string[]
}>

/** `isAggregated` false: its points are shown as they are. */
export type SqlSource = Readonly<{ sql: string; isAggregated: boolean }>

/** `version`: null if changes of its rows cannot be detected. */
export type DescribedSql = Readonly<{ map: InstantiatedMap; bounds: Bounds | null; version: string | null }>

export type KnownMap = Readonly<{
  id: string
  config: CheckedMapConfig
  aggregated: readonly boolean[]
  /** The revision of its template; null without a template. */
  revision: string | null
}>

type OpenOptions = Readonly<{
  revision?: string | null
  tokens?: readonly string[]
  templates?: FoundTemplates
}>

/** A map as a request reads it. */
export type OpenedMap = KnownMap & Readonly<{ readerOf: ReaderOf }>

export type MapTileRequest = Readonly<{
  /** Index, id, a list of either, `all` or `mapnik`; undefined: all. */
  layers: string | undefined
  place: TilePlace
  /** False: points are shown as they are. */
  isAggregated: boolean
}>

/** Maps of SQL. Their tiles are made like those of tables, as the role of the key that asks. One for each process. */
export class Maps {
  readonly #config: Config
  readonly #databases: Databases
  readonly #tiles: Tiles
  readonly #named: NamedLayers
  /** By user and id. */
  readonly #known = new LRUCache<string, KnownMap>({ max: 1_000, maxSize: knownCharacters, ttl: knownMs })
  /** As last found, by role, map and layer. */
  readonly #versions = new LRUCache<string, string>({ max: 2_000 })
  /** The plans of layers at a version, by role, map and layer. */
  readonly #plans = new LRUCache<string, Readonly<{ version: string; plan: LayerPlan }>>({
    max: 2_000,
    maxSize: knownCharacters,
  })
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(parts: MapsParts) {
    this.#config = parts.config
    this.#databases = parts.databases
    this.#tiles = parts.tiles
    this.#named = new NamedLayers(parts)
  }

  /** Plans the layers as the role of the caller, and keeps the map. */
  async instantiate(
    principal: Principal,
    raw: unknown,
    gone: AbortLike,
    revision: string | null = null,
  ): Promise<InstantiatedMap> {
    const { account, key } = principal
    const most = key.type === 'default' ? mostPublicLength : mostLength
    await letOthersIn()
    textOfConfig(withoutCredentials(raw), most)
    const pinned = await this.#named.pin(account, withoutCredentials(raw))
    const text = JSON.stringify(pinned.raw)
    const { config, characters } = await this.#named.read(pinned)
    const id = mapIdOf(text, revision)
    const readerOf = await this.#readers(principal, { id, config }, null, pinned.templates)
    const layers = await this.#plan({ config, readerOf }, gone, performance.now() + statsMs)
    const aggregated = layers.map(({ isAggregated }) => isAggregated)
    await this.#sweep()
    await saveMap(
      this.#databases.control,
      account,
      { id, config: text, aggregated, revision },
      // Anyone can open a template.
      key.type === 'default' || revision !== null,
    )
    this.#keep(account, { id, config, aggregated, revision }, characters)
    const changedMs = Math.max(0, ...layers.map((layer) => layer.changedMs))
    return { id, config, layers, changedMs, readerOf, tokens: pinned.tokens }
  }

  /** The id that a config has as a map, and the named maps in it. */
  async identify(
    account: Account,
    raw: unknown,
    revision: string,
  ): Promise<Readonly<{ id: string; templates: FoundTemplates }>> {
    const { raw: pinned, templates } = await this.#named.pinHeads(account, withoutCredentials(raw))
    return { id: mapIdOf(JSON.stringify(pinned), revision), templates }
  }

  /** A config as it is now, with the layers of the named maps in it. */
  async readConfig(account: Account, raw: unknown): Promise<ReadConfig> {
    return this.#named.read(await this.#named.pin(account, raw))
  }

  /** Its layers as their readers see them now, without statistics. */
  plan(map: OpenedMap, gone: AbortLike): Promise<readonly PlannedLayer[]> {
    return this.#plan(map, gone, performance.now())
  }

  /** Layers that one key reads are planned in one turn. */
  async #plan(
    { config, readerOf }: Pick<OpenedMap, 'config' | 'readerOf'>,
    gone: AbortLike,
    statsDeadline: number,
  ): Promise<readonly PlannedLayer[]> {
    const runs = runsOf(config.layers, readerOf)
    const deadline = runs.length > 1 ? this.#tiles.deadline() : undefined
    const planned: PlannedLayer[] = []
    for (const { reader, layers } of runs) {
      const plan = (session: Session) => planLayers(session, layers, statsDeadline)
      planned.push(...(await this.#tiles.run(reader, gone, plan, { deadline })))
    }
    return planned
  }

  /** Makes a map of one query, whose geometry is found as that of a table. */
  async describeSql(
    principal: Principal,
    { sql, isAggregated }: SqlSource,
    gone: AbortLike,
  ): Promise<DescribedSql> {
    const read = readLayerSql(sql)
    const { name, srid } = await this.#tiles.run(principal, gone, async (session) => {
      await session.query('begin isolation level repeatable read read only')
      const { fields } = await session.query(columnsSql(read, wholeWorld))
      return findGeometry(session, fields)
    })
    const config = { layers: [{ options: { sql, geom_column: name, srid } }] }
    const map = await this.instantiate(principal, isAggregated ? config : withoutAggregation(config), gone)
    const { plan, estimatedRows } = map.layers[0]!
    const layer = { ...plan!.rows(wholeWorld), estimatedRows }
    // First: bounds of a later version do no harm.
    const version = await this.versionOf(map, gone)
    const bounds = await this.#tiles.run(principal, gone, (session) => boundsOf(session, layer))
    return { map, bounds, version }
  }

  /**
   * Throws if there is no such map, or no longer. `revision`: of the template that it was made of. `tokens`: for the named maps
   * in one that was made of none. `templates`: the named maps in it, if this request has looked them up.
   */
  async open(
    principal: Principal,
    id: string,
    { revision = null, tokens = [], templates }: OpenOptions,
  ): Promise<OpenedMap> {
    const map = await this.#find(principal.account, id)
    // A map of a template runs as another key than that of the caller.
    if (map.revision !== revision) throw errors.mapUnknown(id.slice(0, 100))
    const opening = revision === null ? tokens : null
    return { ...map, readerOf: await this.#readers(principal, map, opening, templates) }
  }

  async #readers(
    principal: Principal,
    { id, config }: Pick<KnownMap, 'id' | 'config'>,
    tokens: readonly string[] | null,
    templates: FoundTemplates | undefined,
  ): Promise<ReaderOf> {
    const readers = await this.#named.readers(principal, config, tokens, templates)
    if (!readers) throw errors.mapUnknown(id)
    return readers
  }

  async #find(account: Account, id: string): Promise<KnownMap> {
    const key = keyOf(account, id)
    const known = this.#known.get(key)
    if (known) return known
    const stored = /^[0-9a-f]{32}$/.test(id) ? await findMap(this.#databases.control, account, id) : undefined
    if (!stored) throw errors.mapUnknown(id.slice(0, 100))
    const { aggregated, revision } = stored
    const pinned = await this.#named.unpin(account, JSON.parse(stored.config))
    if (!pinned) throw errors.mapUnknown(id)
    const { config, characters } = await this.#named.read(pinned)
    const map = { id, config, aggregated, revision }
    this.#keep(account, map, characters)
    return map
  }

  #keep(account: Account, map: KnownMap, characters: number): void {
    this.#known.set(keyOf(account, map.id), map, { size: characters + 1_000 })
  }

  async tile(map: OpenedMap, request: MapTileRequest, client: TileClient): Promise<Tile> {
    const { minzoom, maxzoom } = map.config
    const { z } = request.place
    if (z < minzoom || z > maxzoom) throw errors.notFound('Tile at this zoom')
    const deadline = this.#tiles.deadline()
    const parts: TilePart[] = []
    for (const run of runsOf(chooseLayers(map.config, request.layers), map.readerOf))
      parts.push(await this.#partOf(run, map, request, client.gone))
    const [first] = parts
    if (first && parts.length === 1) return this.#tiles.make(first.principal, first.source, client)
    return this.#tiles.join(parts, deadline, client)
  }

  /** The layers that one key reads. */
  async #partOf(
    { reader, layers }: ReaderRun<TiledLayer>,
    map: KnownMap,
    { place, isAggregated }: MapTileRequest,
    gone: AbortLike,
  ): Promise<TilePart> {
    const { id, config } = map
    const aggregated = layers.filter(({ index }) => isAggregated && map.aggregated[index])
    const key = `map ${id} ${layers.map(({ index }) => index)} ${aggregated.map(({ index }) => index)}`
    const { tileMaxFeatures: maxFeatures, tileMaxBytes: maxBytes } = this.#config
    const versions = await this.#lookUp(reader, map, layers, gone)
    const known = Object.fromEntries(layers.map(({ index }, at) => [index, versions[at]!.version]))
    const plans = this.#plansOf(reader, map)
    const tile = { config, layers, aggregated, place, maxFeatures, maxBytes, known, plans }
    const make = (session: Session, leftBytes: number) => drawMapTile(session, { ...tile, leftBytes })
    return { principal: reader, source: { key, place, version: versionOfAll(versions), make } }
  }

  #plansOf({ key, account }: Principal, { id }: KnownMap): KnownPlans {
    const keyOfLayer = (index: number) => `${key.role} ${account.userId} ${id} ${index}`
    return {
      get: ({ index }, version) => {
        const known = this.#plans.get(keyOfLayer(index))
        return known?.version === version ? known.plan : undefined
      },
      set: ({ index, source }, version, plan) => {
        const size = source.sql(wholeWorld).length + version.length + 1_000
        this.#plans.set(keyOfLayer(index), { version, plan }, { size })
      },
    }
  }

  /**
   * Differs after each change to its rows, and to the rights of those who read them. Null: changes cannot be detected.
   */
  async versionOf(
    map: Pick<OpenedMap, 'id' | 'config' | 'readerOf'>,
    gone: AbortLike,
  ): Promise<string | null> {
    const versions: QueryVersion[] = []
    for (const { reader, layers } of runsOf(chooseLayers(map.config, undefined), map.readerOf))
      versions.push(...(await this.#lookUp(reader, map, layers, gone)))
    return versionOfAll(versions)
  }

  /** The versions of the rows of the layers, as the caller's role sees them. */
  async #lookUp(
    principal: Principal,
    { id }: Pick<KnownMap, 'id'>,
    layers: readonly TiledLayer[],
    gone: AbortLike,
  ): Promise<readonly QueryVersion[]> {
    if (layers.some(({ source }) => !source.names))
      return layers.map(() => ({ version: null, is_moved: null }))
    const keyOfLayer = (index: number) => `${principal.key.role} ${principal.account.userId} ${id} ${index}`
    const question = `map ${id} ${layers.map(({ index }) => index)}`
    return this.#tiles.look(principal, question, gone, async (session) => {
      const found: QueryVersion[] = []
      for (const { index, source } of layers) {
        const version = await lookUpVersion(
          session,
          source.names,
          this.#versions.get(keyOfLayer(index)) ?? null,
        )
        if (version.version !== null) this.#versions.set(keyOfLayer(index), version.version)
        found.push(version)
      }
      return found
    })
  }

  /** The attributes of a feature, if the layer tells them. */
  feature({ config, readerOf }: OpenedMap, layer: string, fid: string, gone: AbortLike): Promise<JsonObject> {
    const found = chooseLayer(config.layers, layer)
    if (!found.source?.attributes) throw errors.mapInvalid(`Layer ${layer} has no exposed attributes`)
    const { sql, attributes } = found.source
    return this.#ask(readerOf(found), gone, (session) => readFeature(session, sql, attributes, fid))
  }

  dataview(
    principal: Principal,
    { config }: KnownMap,
    name: string,
    request: DataviewRequest,
    gone: AbortLike,
  ): Promise<JsonObject> {
    const found = config.dataviews.find((dataview) => dataview.name === name)
    if (!found) throw errors.dataviewInvalid(`Dataview '${name}' does not exist`)
    const names = config.dataviews
      .filter(({ sourceId }) => sourceId === found.sourceId)
      .map((each) => each.name)
    const filters = config.filters.filter(({ dataview }) => names.includes(dataview))
    return this.#ask(principal, gone, (session) => computeDataview(session, found, filters, request))
  }

  #ask<T>(principal: Principal, gone: AbortLike, work: (session: Session) => Promise<T>): Promise<T> {
    return this.#tiles.run(principal, gone, (session) =>
      work(session).catch((error: unknown) => {
        throw layerError(error)
      }),
    )
  }

  /** At most once an hour. */
  async #sweep(): Promise<void> {
    if (performance.now() - this.#sweptAt < sweepMs) return
    this.#sweptAt = performance.now()
    await deleteExpiredMaps(this.#databases.control)
  }
}

type ReaderRun<L extends MapLayer> = Readonly<{ reader: Principal; layers: readonly L[] }>

/** Layers that follow each other and are read by the same key. */
function runsOf<L extends MapLayer>(layers: readonly L[], readerOf: ReaderOf): readonly ReaderRun<L>[] {
  const runs: { reader: Principal; layers: L[] }[] = []
  for (const layer of layers) {
    const reader = readerOf(layer)
    const last = runs.at(-1)
    if (last?.reader.key.id === reader.key.id) last.layers.push(layer)
    else runs.push({ reader, layers: [layer] })
  }
  return runs
}

const keyOf = ({ userId }: Account, id: string) => `${userId} ${id}`

/** Its use is written after each of these, if an hour is over. */
const knownMs = 60_000
const sweepMs = 3_600_000
/** Characters of all cached configs together: a parsed config takes many times as much memory. */
const knownCharacters = 4 * 1024 ** 2
const mostLength = 256 * 1024
const mostPublicLength = 64 * 1024
