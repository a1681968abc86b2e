import type { Session } from '../postgres/session.ts'
import { finishTile, sendAll, type TileRow } from '../tiles/render-tile.ts'
import { type TileContent, type TilePlace, tileSql } from '../tiles/tile-sql.ts'
import type { MadeTile } from '../tiles/tiles.ts'
import { aggregatedRows } from './aggregation.ts'
import type { TiledLayer } from './choose-layers.ts'
import { columnsSql } from './columns.ts'
import { pixelsOfTile, type TileView } from './layer-sql.ts'
import { inLayer, type MapConfig } from './map-config.ts'
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
}>

/** Makes a tile in one snapshot, which cannot write. Columns are looked up in it too: a table may have changed. */
export async function drawMapTile(session: Session, tile: MapTile): Promise<MadeTile> {
  const { z } = tile.place
  const layers = tile.layers.filter(({ source }) => z >= source.minzoom && z <= source.maxzoom)
  await session.query('begin isolation level repeatable read read only')
  const contents: TileContent[] = []
  for (const layer of layers) contents.push(await contentOf(session, layer, tile))
  if (contents.length === 0) return { bytes: Buffer.alloc(0), truncated: [], version: null }
  try {
    const rows = (await sendAll(session, contents.map(tileSql))).map(({ rows: [row] }) => row as TileRow)
    return { ...(await finishTile(session, contents, rows, tile.maxBytes)), version: null }
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
