import { errors } from '../errors.ts'
import type { CheckedMapConfig, LayerSource, MapLayer } from './map-config.ts'

/** A layer with tiles. */
export type TiledLayer = MapLayer & Readonly<{ source: LayerSource }>

/** The layers that a tile is asked of, by index or id; none named: all that have tiles. */
export function chooseLayers(
  { layers }: CheckedMapConfig,
  filter: string | undefined,
): readonly TiledLayer[] {
  const tiled = layers.filter((layer): layer is TiledLayer => layer.source !== null)
  if (filter === undefined || filter === 'all' || filter === 'mapnik') return tiled
  const chosen = filter.split(',').map((name) => chooseLayer(layers, name))
  return tiled.filter((layer) => chosen.includes(layer))
}

export function chooseLayer(layers: readonly MapLayer[], name: string): MapLayer {
  const found = /^\d{1,3}$/.test(name) ? layers[Number(name)] : layers.find(({ id }) => id === name)
  if (!found) throw errors.badRequest('Invalid layer filtering')
  return found
}
