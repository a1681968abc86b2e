import type { LayergroupDocument, TileJson } from '../../contract/documents.ts'
import type { DescribedSql, InstantiatedMap } from '../../maps/maps.ts'
import type { PlannedLayer } from '../../maps/plan-map.ts'
import { fieldTypes, rounded, world } from '../tiles/document.ts'

export type LayergroupOptions = Readonly<{
  /** With the time of the newest change. */
  layergroupid: string
  changedMs: number
  /** Of the account. */
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
        ...(planned.layer.source && { tilejson: tileJson(`/${encodeURIComponent(planned.layer.id)}`) }),
      })),
      dataviews: Object.fromEntries(
        map.config.dataviews.map(({ name }) => [
          name,
          { url: bothWays(`${url}/api/v1/map/${layergroupid}/dataview/${encodeURIComponent(name)}`) },
        ]),
      ),
      analyses: [],
      tilejson: hasTiles ? tileJson('') : {},
      url: hasTiles ? { vector: { urlTemplate: tiles(''), subdomains: [] } } : {},
    },
    cdn_url: { http: host, https: host },
  }
}

/** The TileJSON of a query. */
export function sqlTileJson({ map, bounds }: DescribedSql, url: string, token: string | undefined): TileJson {
  const [{ layer, plan }] = map.layers as [PlannedLayer]
  const [west, south, east, north] = (bounds?.map(rounded) ?? world) as [number, number, number, number]
  const query = token === undefined ? '' : `?${new URLSearchParams({ api_key: token })}`
  return {
    tilejson: '3.0.0',
    name: layer.id,
    description: '',
    scheme: 'xyz',
    tiles: [`${url}/api/v1/map/${map.id}/${layer.id}/{z}/{x}/{y}.mvt${query}`],
    vector_layers: [
      {
        id: layer.id,
        fields: Object.fromEntries(plan!.properties.map(({ name, kind }) => [name, fieldTypes[kind]])),
        description: '',
      },
    ],
    bounds: [west, south, east, north],
    center: [rounded((west + east) / 2), rounded((south + north) / 2), 0],
    minzoom: 0,
    maxzoom: 18,
  }
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
  }
}
