import type { Basemap } from '../../config/config-variables.ts'
import type { MapPageMetadata, StyleDocument, TileJson } from '../../contract/documents.ts'
import type { JsonObject } from '../../contract/text/json-object.ts'
import type { CheckedMapConfig } from '../../maps/map-config.ts'
import type { InstantiatedMap } from '../../maps/maps.ts'
import type { ShownMap } from '../../maps/named/named-maps.ts'
import { withSourceLayers } from '../../maps/named/view-style.ts'
import { escapeHtml } from '../console/console-files.ts'
import { mapTileJson } from '../maps/document.ts'
import { rounded } from '../tiles/document.ts'
import { withMaxAge } from '../tiles/request.ts'
import { basemapOf, type Theme } from './basemap.ts'
import { cameraOf } from './camera.ts'
import { defaultStyle } from './default-style.ts'

type TileContext = Readonly<{
  /** The address of the account. */
  url: string
  /** Seconds for which a client need not ask for a tile again; undefined: it asks each time. */
  maxAge: number | undefined
}>

export type StyleContext = TileContext &
  Readonly<{
    /** The address of the countries of the built-in basemap; undefined: not in this build. */
    world: string | undefined
    theme: Theme
    allowed: readonly Basemap[]
  }>

/** The MapLibre style of a named map. It says nothing of the SQL, the tables or the key of the map. */
export function styleDocument(shown: ShownMap, options: StyleContext): StyleDocument {
  const { config, view, template, bounds } = shown
  const { title, description, popup, legend } = view
  const { name } = template.stored
  const basemap = basemapOf(view.basemap, options)
  const box = view.bounds ?? bounds ?? undefined
  return {
    version: 8,
    name: title || name,
    metadata: {
      cartage: {
        title: title || name,
        description: description ?? '',
        basemap: basemap.kind,
        popup,
        legend,
        ...(view.center === undefined && box && { bounds: box.map(rounded) }),
      } satisfies MapPageMetadata,
    },
    ...cameraOf(view, box),
    // The basemap comes first, and no layer of the map with the same id replaces it.
    sources: { ...basemap.sources, ...sourcesOf(shown, options), ...basemap.sources },
    layers: [...basemap.layers, ...layersOf(view.style, config, options.theme)],
  }
}

/** The TileJSON of a named map. */
export function tileJsonOf(shown: ShownMap, map: InstantiatedMap, context: TileContext): TileJson {
  const { config, view, template, bounds } = shown
  const box = view.bounds ?? bounds
  const name = view.title || template.stored.name
  const { center, zoom } = cameraOf(view, box ?? undefined)
  const { minzoom, maxzoom } = zoomsOf(config)
  const attributions = new Set(tiledLayers(config).flatMap(({ attribution }) => attribution || []))
  return {
    ...mapTileJson(map, { name, tiles: tilesOf(template, 'all', context), bounds: box }),
    description: view.description ?? '',
    center: [...center, Math.max(minzoom, Math.min(maxzoom, Math.floor(zoom)))],
    minzoom,
    maxzoom,
    ...(attributions.size > 0 && { attribution: [...attributions].map(asHtml).join(', ') }),
  }
}

function tilesOf(
  { stored, token }: ShownMap['template'],
  layer: number | 'all',
  { url, maxAge }: TileContext,
): string {
  const query = withMaxAge(new URLSearchParams(token === undefined ? {} : { auth_token: token }), maxAge)
  return `${url}/api/v1/map/named/${stored.name}/${layer}/{z}/{x}/{y}.mvt${query.size === 0 ? '' : `?${query}`}`
}

function sourcesOf({ config, template }: ShownMap, context: TileContext): JsonObject {
  return Object.fromEntries(
    tiledLayers(config).map(({ id, index, attribution }) => [
      id,
      {
        type: 'vector',
        // By index: an id of digits would be taken for one.
        tiles: [tilesOf(template, index, context)],
        ...zoomsOf(config),
        ...(attribution && { attribution: asHtml(attribution) }),
      },
    ]),
  )
}

/** MapLibre shows it as HTML. */
const asHtml = (attribution: string) => escapeHtml(attribution.slice(0, 500))

/** MapLibre refuses a source whose zooms are in the wrong order or out of range. */
function zoomsOf({ minzoom, maxzoom }: CheckedMapConfig) {
  const shown = (zoom: number) => Math.max(0, Math.min(deepestZoom, zoom))
  const first = shown(Math.ceil(minzoom))
  return { minzoom: first, maxzoom: Math.max(first, shown(Math.floor(maxzoom))) }
}

/** MapLibre shows no more. */
const deepestZoom = 22

const tiledLayers = ({ layers }: CheckedMapConfig) => layers.filter(({ source }) => source !== null)

const layersOf = (style: readonly JsonObject[] | undefined, config: CheckedMapConfig, theme: Theme) =>
  style
    ? withSourceLayers(style)
    : defaultStyle(
        tiledLayers(config).map(({ id }) => id),
        theme,
      )
