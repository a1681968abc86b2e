import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import { inLayer } from '../tiles/in-layer.ts'
import { type QueryVersion, versionInSnapshot, versionOfAll } from '../tiles/query-version.ts'
import { type DrawnTile, finishTile } from '../tiles/render-tile.ts'
import type { TileContent, TilePlace } from '../tiles/tile-sql.ts'
import type { MadeTile } from '../tiles/tiles.ts'
import { aggregatedRows } from './aggregation.ts'
import type { TiledLayer } from './choose-layers.ts'
import { columnsSql } from './columns.ts'
import { pixelsOfTile, type TileView } from './layer-sql.ts'
import type { MapConfig } from './map-config.ts'
import { planLayer } from './plan-layer.ts'
import { aggregationOf, layerError } from './plan-map.ts'

export type MapTile = Readonly<{
  config: MapConfig
  layers: readonly TiledLayer[]
  /** Those of them that show aggregated points. */
  aggregated: readonly TiledLayer[]
  place: TilePlace
  maxFeatures: number
  maxBytes: number
  /** What is left of them. */
  leftBytes: number
  /** The versions that a look-up has just found, by the index of the layer. */
  known: Readonly<Record<number, string | null>>
}>

/**
 * Makes a tile in one snapshot, which cannot write. Columns are looked up in it too: a table may have changed. Again if rows were
 * rewritten after the snapshot was taken, which therefore sees none.
 */
export async function drawMapTile(session: Session, tile: MapTile): Promise<MadeTile> {
  for (let attempt = 1; ; attempt += 1) {
    const made = await drawOnce(session, tile)
    if (made) return made
    if (attempt === mostAttempts) throw errors.tilesBusy(1)
    await session.query('rollback')
  }
}

const mostAttempts = 4

async function drawOnce(session: Session, tile: MapTile): Promise<MadeTile | undefined> {
  const { z } = tile.place
  const isShown = ({ source }: TiledLayer) => z >= source.minzoom && z <= source.maxzoom
  const layers = tile.layers.filter(isShown)
  await session.query('begin isolation level repeatable read read only')
  const contents: TileContent[] = []
  for (const layer of tile.layers) {
    // Also of a layer that is not shown at this zoom: the role must be allowed to read it.
    const content = await contentOf(session, layer, tile)
    if (isShown(layer)) contents.push(content)
  }
  const drawn = await draw(session, contents, layers, tile)
  const versions: QueryVersion[] = []
  for (const { source, index } of tile.layers)
    versions.push(await versionInSnapshot(session, source.names, tile.known[index] ?? null))
  if (versions.some(({ is_moved: isMoved }) => isMoved)) return undefined
  return { ...drawn, version: versionOfAll(versions) }
}

async function draw(
  session: Session,
  contents: readonly TileContent[],
  layers: readonly TiledLayer[],
  { maxBytes, leftBytes: left }: MapTile,
): Promise<DrawnTile> {
  if (contents.length === 0) return { bytes: Buffer.alloc(0), truncated: [] }
  try {
    return await finishTile(session, contents, maxBytes, { left })
  } catch (error) {
    throw layers.length === 1 ? inLayer(layerError(error), layers[0]!) : layerError(error)
  }
}

async function contentOf(session: Session, layer: TiledLayer, tile: MapTile): Promise<TileContent> {
  const { place, maxFeatures, maxBytes } = tile
  const { bufferPixels, extent, simplifyExtent } = tile.config
  const view: TileView = { place, margin: bufferPixels / pixelsOfTile }
  const grid = {
    extent,
    buffer: Math.round((bufferPixels * extent) / pixelsOfTile),
    simplifiedCells: simplifyExtent === extent ? null : 2 * simplifyExtent,
  }
  try {
    const { fields } = await session.query(columnsSql(layer.source.sql, view))
    const plan = await planLayer(session, layer.source, fields)
    const plain = { layer: plan.rows(view), properties: plan.properties }
    const shown = tile.aggregated.includes(layer)
      ? aggregatedRows(plain, aggregationOf(layer.source), view)
      : plain
    return { ...shown, name: layer.id, place, grid, maxFeatures, maxBytes }
  } catch (error) {
    throw inLayer(layerError(error), layer)
  }
}
