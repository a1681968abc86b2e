import type { TilePlace } from '../contract/documents.ts'
import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import { inLayer } from '../tiles/in-layer.ts'
import {
  type QueryVersion,
  readVersion,
  unknownVersion,
  versionOfAll,
  versionSql,
} from '../tiles/query-version.ts'
import { type DrawnTile, finishTile, isOvertaken, readTileRow, tileText } from '../tiles/render-tile.ts'
import type { TileContent } from '../tiles/tile-sql.ts'
import type { MadeTile } from '../tiles/tiles.ts'
import { aggregatedRows } from './aggregation.ts'
import type { TiledLayer } from './choose-layers.ts'
import { columnsSql } from './columns.ts'
import { pixelsOfTile, type TileView, wholeWorld } from './layer-sql.ts'
import type { CheckedMapConfig } from './map-config.ts'
import { type LayerPlan, planLayer } from './plan-layer.ts'
import { aggregationOf, layerError } from './plan-map.ts'

export type MapTile = Readonly<{
  config: CheckedMapConfig
  layers: readonly TiledLayer[]
  /** The layers that show aggregated points. */
  aggregated: readonly TiledLayer[]
  place: TilePlace
  maxFeatures: number
  maxBytes: number
  /** How many bytes are left. */
  leftBytes: number
  /** The versions that a look-up has just found, by the index of the layer. */
  known: Readonly<Record<number, string | null>>
  plans: KnownPlans
}>

/** What the layers answered for earlier tiles, of one map and one role. */
export type KnownPlans = Readonly<{
  get: (layer: TiledLayer, version: string) => LayerPlan | undefined
  set: (layer: TiledLayer, version: string, plan: LayerPlan) => void
}>

/**
 * Makes a tile in one snapshot, which cannot write. Columns are looked up in it too, unless they are known under the version that it
 * sees: a table may have changed. Again if it has, or if rows were rewritten after the snapshot was taken, which therefore sees none.
 */
export async function drawMapTile(session: Session, tile: MapTile): Promise<MadeTile> {
  const known = await drawByKnownPlans(session, tile)
  if (known) return known
  for (let attempt = 1; ; attempt += 1) {
    const made = await drawOnce(session, tile)
    if (made) return made
    if (attempt === mostAttempts) throw errors.tilesBusy(1)
    await session.query('rollback')
  }
}

const mostAttempts = 4
const begin = 'begin isolation level repeatable read read only'

/** With one message, if it has one layer. Undefined if a plan is not known, or no longer true; then no transaction is open. */
async function drawByKnownPlans(session: Session, tile: MapTile): Promise<MadeTile | undefined> {
  const plans = tile.layers.map((layer) => knownPlan(tile, layer))
  if (plans.length === 0 || plans.includes(undefined)) return undefined
  const isTrue = (versions: readonly QueryVersion[]) =>
    versions.every(
      ({ version, is_moved: isMoved }, at) => !isMoved && version === tile.known[tile.layers[at]!.index],
    )
  try {
    const { versions, ...made } = await drawPlanned(session, tile, plans as readonly LayerPlan[], [begin])
    if (isTrue(versions)) return { ...made, version: versionOfAll(versions) }
  } catch (error) {
    if (!isOvertaken(error)) throw error
  }
  await session.query('rollback')
  return undefined
}

function knownPlan({ plans, known }: MapTile, layer: TiledLayer): LayerPlan | undefined {
  const version = known[layer.index]
  return version ? plans.get(layer, version) : undefined
}

async function drawOnce(session: Session, tile: MapTile): Promise<MadeTile | undefined> {
  await session.query(begin)
  const plans: LayerPlan[] = []
  // Also of a layer that is not shown at this zoom: the role must be allowed to read it.
  for (const layer of tile.layers) plans.push(await planOf(session, layer, tile))
  const { versions, ...made } = await drawPlanned(session, tile, plans, [])
  if (versions.some(({ is_moved: isMoved }) => isMoved)) return undefined
  for (const [at, layer] of tile.layers.entries()) {
    const { version } = versions[at]!
    if (version !== null && isSameEverywhere(layer, tile) && !plans[at]!.hasOwnTypes)
      tile.plans.set(layer, version, plans[at]!)
  }
  return { ...made, version: versionOfAll(versions) }
}

/** A token may be of another type at another place. */
const isSameEverywhere = ({ source }: TiledLayer, tile: MapTile) =>
  source.sql(viewOf(tile)) === source.sql(wholeWorld)

type PlannedTile = DrawnTile & Readonly<{ versions: readonly QueryVersion[] }>

/** One layer is drawn, and its version asked for, with one message. `first`: statements to send before. */
async function drawPlanned(
  session: Session,
  tile: MapTile,
  plans: readonly LayerPlan[],
  first: readonly string[],
): Promise<PlannedTile> {
  const { z } = tile.place
  const isShown = ({ source }: TiledLayer) => z >= source.minzoom && z <= source.maxzoom
  const shown = tile.layers.filter(isShown)
  const contents = tile.layers.flatMap((layer, at) =>
    isShown(layer) ? [contentOf(layer, plans[at]!, tile)] : [],
  )
  const named = tile.layers.filter(({ source }) => source.names)
  const asked = named.map(({ source, index }) => versionSql(source.names!, tile.known[index] ?? null))
  try {
    const isOne = contents.length === 1
    const texts = isOne ? [...first, tileText(contents[0]!), ...asked] : first
    const answers = texts.length > 0 ? await session.ask(texts) : []
    const drawn = await finishTile(session, contents, tile.maxBytes, {
      left: tile.leftBytes,
      ...(isOne && { first: readTileRow(answers[first.length]!) }),
    })
    const told = isOne ? answers.slice(first.length + 1) : asked.length > 0 ? await session.ask(asked) : []
    const versionAt = (layer: TiledLayer) => {
      const rows = told[named.indexOf(layer)]
      return rows ? readVersion(rows) : unknownVersion
    }
    return { ...drawn, versions: tile.layers.map(versionAt) }
  } catch (error) {
    if (isOvertaken(error) && first.length > 0) throw error
    throw shown.length === 1 ? inLayer(layerError(error), shown[0]!) : layerError(error)
  }
}

const viewOf = ({ place, config }: MapTile): TileView => ({
  place,
  margin: config.bufferPixels / pixelsOfTile,
})

async function planOf(session: Session, layer: TiledLayer, tile: MapTile): Promise<LayerPlan> {
  try {
    const { fields } = await session.query(columnsSql(layer.source.sql, viewOf(tile)))
    return await planLayer(session, layer.source, fields)
  } catch (error) {
    throw inLayer(layerError(error), layer)
  }
}

function contentOf(layer: TiledLayer, plan: LayerPlan, tile: MapTile): TileContent {
  const { place, maxFeatures, maxBytes } = tile
  const { bufferPixels, extent, simplifyExtent } = tile.config
  const view = viewOf(tile)
  const grid = {
    extent,
    buffer: Math.round((bufferPixels * extent) / pixelsOfTile),
    simplifiedCells: simplifyExtent === extent ? null : 2 * simplifyExtent,
  }
  try {
    const plain = { layer: plan.rows(view), properties: plan.properties }
    const shown = tile.aggregated.includes(layer)
      ? aggregatedRows(plain, aggregationOf(layer.source), view)
      : plain
    return { ...shown, name: layer.id, place, grid, maxFeatures, maxBytes }
  } catch (error) {
    throw inLayer(layerError(error), layer)
  }
}
