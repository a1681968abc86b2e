import type { LayergroupDocument, TileJson } from '../../contract/documents.ts'
import type { CheckedMapConfig, MapLayer } from '../../maps/map-config.ts'
import type { InstantiatedMap } from '../../maps/maps.ts'
import { type PlannedLayer, propertiesOf } from '../../maps/plan-map.ts'
import type { Bounds } from '../../tiles/describe-layers.ts'
import { fieldTypes, rounded, world } from '../tiles/document.ts'

export type LayergroupOptions = Readonly<{
  /** With the time of the newest change. */
  layergroupid: string
  changedMs: number
  /** The address of the account. */
  url: string
  /** Parameters of its tiles. */
  query: URLSearchParams
}>

/** The answer to an instantiation. */
export function layergroupDocument(map: InstantiatedMap, options: LayergroupOptions): LayergroupDocument {
  const { layergroupid, changedMs, url } = options
  const { minzoom, maxzoom } = map.config
  const query = options.query.size === 0 ? '' : `?${options.query}`
  const tiles = (layer: string) => `${url}/api/v1/map/${layergroupid}${layer}/{z}/{x}/{y}.mvt${query}`
  const tileJson = (layer: string) => ({
    vector: { tilejson: '2.2.0' as const, tiles: [tiles(layer)], minzoom, maxzoom },
  })
  const hasTiles = map.layers.some(({ layer }) => layer.source !== null)
  const host = url.replace(/^https?:\/\//, '').replace(/\/[^/]*$/, '')
  return {
    layergroupid,
    last_updated: new Date(changedMs).toISOString(),
    metadata: {
      layers: map.layers.map((planned) => ({
        type: planned.layer.type,
        id: planned.layer.id,
        meta: metaOf(planned),
        ...(planned.layer.source && { tilejson: tileJson(`/${pathOf(planned.layer)}`) }),
      })),
      dataviews: Object.fromEntries(
        map.config.dataviews.map(({ name }) => [
          name,
          { url: bothWays(`${url}/api/v1/map/${layergroupid}/dataview/${encodeURIComponent(name)}`) },
        ]),
      ),
      analyses: analysesOf(map.config, `${url}/api/v1/map/${layergroupid}`),
      tilejson: hasTiles ? tileJson('') : {},
      url: hasTiles ? { vector: { urlTemplate: tiles(''), subdomains: [] } } : {},
    },
    cdn_url: { http: host, https: host },
  }
}

/** Its id, unless that means something else in an address: then its index. */
const pathOf = ({ id, index }: MapLayer) =>
  /^(?:\d{1,3}|all|mapnik|\.{1,2})$/.test(id) ? String(index) : encodeURIComponent(id)

export type MapTileJson = Readonly<{
  name: string
  /** The address of its tiles. */
  tiles: string
  bounds: Bounds | null
}>

/** The TileJSON of a map. */
export function mapTileJson({ layers }: InstantiatedMap, { name, tiles, bounds }: MapTileJson): TileJson {
  const [west, south, east, north] = (bounds?.map(rounded) ?? world) as [number, number, number, number]
  return {
    tilejson: '3.0.0',
    name,
    description: '',
    scheme: 'xyz',
    tiles: [tiles],
    vector_layers: layers
      .filter(({ plan }) => plan)
      .map((planned) => ({
        id: planned.layer.id,
        fields: Object.fromEntries(propertiesOf(planned).map((each) => [each.name, fieldTypes[each.kind]])),
        description: '',
      })),
    bounds: [west, south, east, north],
    center: [rounded((west + east) / 2), rounded((south + north) / 2), 0],
    minzoom: 0,
    maxzoom: 18,
  }
}

/** A source has nothing to compute: its dataviews and layers read it when they are asked. */
function analysesOf({ analyses }: CheckedMapConfig, url: string) {
  const nodes = analyses.map((id) => {
    const address = bothWays(`${url}/analysis/node/${encodeURIComponent(id)}`)
    return [id, { status: 'ready', url: address }] as const
  })
  return nodes.map((node) => ({ nodes: Object.fromEntries([node]) }))
}

const bothWays = (url: string) => ({
  http: url.replace(/^https:/, 'http:'),
  https: url.replace(/^http:/, 'https:'),
})

function metaOf({ layer, stats, isAggregated, plan }: PlannedLayer) {
  if (!layer.source || !plan) return {}
  return {
    stats,
    aggregation: { png: false, mvt: isAggregated },
    ...(layer.source.datesAsNumbers && { dates_as_numbers: plan.dates }),
    // carto.js reads the ramps of a style from it: CartoCSS is ignored, so there are none.
    ...(layer.source.hasCartocss && { cartocss_meta: { rules: [] } }),
  }
}
