import type {
  LayergroupDocument,
  NamedMapDocument,
  NamedMapTemplate,
  StyleDocument,
  TileJson,
  TilePlace,
} from '../../contract/documents.ts'
import { type Connection, sendForText } from '../http/send.ts'
import { sendForBytes, sendForJson } from '../http/send-checked.ts'
import { joined } from './tiles-api.ts'

/** A map of SQL. Each layer is drawn as its `sql` answers it. */
export type MapConfig = Readonly<{
  version?: string
  layers: readonly Readonly<{
    type?: 'mapnik' | 'cartodb' | 'http' | 'plain'
    /** The name of the layer in its tiles; by default `layer0`, `layer1`, ... */
    id?: string
    /** With `sql`, one SELECT; `geom_column` and `srid` unless it is `the_geom_webmercator`. */
    options: Readonly<Record<string, unknown>>
  }>[]
  buffersize?: Readonly<Record<string, unknown>>
  minzoom?: number
  maxzoom?: number
  analyses?: readonly Readonly<Record<string, unknown>>[]
  dataviews?: Readonly<Record<string, unknown>>
}>

export type MapTileOptions = Readonly<{
  /** False: points are shown as they are. */
  aggregation?: boolean
  /** Seconds for which a browser need not ask again. */
  max_age?: number
}>

/** `filters`: those of the dataviews, as JSON. The others are for all tiles of the map. */
export type MapFilters = MapTileOptions & Readonly<{ filters?: string }>

/** `auth_token`: one of `auth.valid_tokens` of a named map. */
export type ViewerTokens = Readonly<{ auth_token?: string }>

type Filtering = Readonly<{
  /** West, south, east, north in degrees. */
  bbox?: string
  /** `{"lat","lng","radius"}` as JSON; the radius is in metres. */
  circle?: string
  /** A polygon of GeoJSON. */
  polygon?: string
  own_filter?: 0 | 1
  no_filters?: 0 | 1
}>

/** Of the description of a named map, and of the tiles in it. */
export type NamedMapOptions = ViewerTokens & Pick<MapTileOptions, 'max_age'>

/** `theme`: of the built-in basemap. */
export type StyleOptions = NamedMapOptions & Readonly<{ theme?: 'light' | 'dark' }>

export type DataviewOptions = Filtering &
  Readonly<{
    start?: number
    end?: number
    bins?: number
    categories?: number
    offset?: number
    aggregation?: string
  }>

export type DataviewSearch = Filtering & Readonly<{ q?: string }>

export function mapsOf(connection: Connection, name: string) {
  return {
    ...namedMapsOf(connection, name),
    /** Makes a map of SQL. It is kept for 24 hours after its last use. */
    instantiate: (config: MapConfig, query: MapFilters = {}) =>
      sendForJson<LayergroupDocument>(connection, 'createMap', { parameters: { name }, query, json: config }),
    /** The attributes of a feature that its layer tells. */
    feature: (layergroupid: string, layer: string, fid: string) =>
      sendForJson<Record<string, unknown>>(connection, 'readFeature', {
        parameters: { name, layergroupid, layer, fid },
      }),
    /** A formula, categories or a histogram of a map. */
    dataview: (layergroupid: string, dataview: string, query: DataviewOptions = {}) =>
      sendForJson<Record<string, unknown>>(connection, 'readDataview', {
        parameters: { name, layergroupid, dataview },
        query,
      }),
    /** The categories that contain a text. */
    searchDataview: (layergroupid: string, dataview: string, query: DataviewSearch) =>
      sendForJson<Record<string, unknown>>(connection, 'searchDataview', {
        parameters: { name, layergroupid, dataview },
        query,
      }),
    /** A vector tile of a map; empty if nothing is there. `layer`: index or id, several with commas; else all. */
    tile: async (
      layergroupid: string,
      { z, x, y }: TilePlace,
      { layer, ...query }: MapTileOptions & Readonly<{ layer?: string }> = {},
    ) => {
      const place = { name, layergroupid, z: String(z), x: String(x), y: `${y}.mvt` }
      const bytes =
        layer === undefined
          ? sendForBytes(connection, 'readMapTile', { parameters: place, query })
          : sendForBytes(connection, 'readMapLayerTile', { parameters: { ...place, layer }, query })
      return joined(await bytes)
    },
  }
}

function namedMapsOf(connection: Connection, name: string) {
  return {
    /** The names of the named maps of the key, with the master key of all. */
    list: async () => {
      const answer = await sendForJson<{ template_ids: readonly string[] }>(connection, 'listNamedMaps', {
        parameters: { name },
      })
      return answer.template_ids
    },
    /** Makes a named map, which runs as this key. */
    create: (template: NamedMapTemplate) =>
      sendForJson<{ template_id: string }>(connection, 'createNamedMap', {
        parameters: { name },
        json: template,
      }),
    read: (template: string) =>
      sendForJson<NamedMapDocument>(connection, 'readNamedMap', { parameters: { name, template } }),
    /** Replaces a named map, and ends the maps that were made of it. */
    replace: (template: NamedMapTemplate) =>
      sendForJson<{ template_id: string }>(connection, 'replaceNamedMap', {
        parameters: { name, template: template.name },
        json: template,
      }),
    delete: async (template: string): Promise<void> => {
      await sendForText(connection, 'deleteNamedMap', { parameters: { name, template } })
    },
    /** Opens a named map with values of its placeholders. */
    open: (
      template: string,
      values: Readonly<Record<string, unknown>> = {},
      query: ViewerTokens & MapTileOptions = {},
    ) =>
      sendForJson<LayergroupDocument>(connection, 'openNamedMap', {
        parameters: { name, template },
        query,
        json: values,
      }),
    /** The MapLibre style of a named map. */
    style: (template: string, query: StyleOptions = {}) =>
      sendForJson<StyleDocument>(connection, 'readMapStyle', { parameters: { name, template }, query }),
    /** The TileJSON of a named map with the defaults of its placeholders. */
    tileJson: (template: string, query: NamedMapOptions = {}) =>
      sendForJson<TileJson>(connection, 'readNamedMapTileJson', { parameters: { name, template }, query }),
    /** A vector tile of a named map with the defaults of its placeholders. */
    namedTile: async (
      template: string,
      { z, x, y }: TilePlace,
      { layer = 'all', ...query }: MapTileOptions & ViewerTokens & Readonly<{ layer?: string }> = {},
    ) => {
      const parameters = { name, template, layer, z: String(z), x: String(x), y: `${y}.mvt` }
      return joined(await sendForBytes(connection, 'readNamedMapTile', { parameters, query }))
    },
  }
}
