import type { ListedTiles, TileJson } from '../../contract/documents.ts'
import { isJsonObject } from '../../contract/text/json-object.ts'
import type { Bounds } from '../../tiles/describe-layers.ts'
import type { ListedLayer } from '../../tiles/list-layers.ts'
import { hashOf, type Layer, type Property } from '../../tiles/tile-layer.ts'
import { layerNames, versionOf } from '../../tiles/tiles.ts'

/** `url`: where the tiles of this account are. */
export function listDocument(layers: readonly ListedLayer[], ownSchema: string, url: string): ListedTiles {
  return {
    tiles: layers.map(({ schema, name, geometry_type }) => ({
      name,
      schema,
      geometry_type,
      url: `${url}/${encodeURIComponent(schema === ownSchema && !name.includes('.') ? name : `${schema}.${name}`)}`,
    })),
  }
}

export type TileJsonOptions = Readonly<{
  layers: readonly Layer[]
  bounds: Bounds | null
  /** The address of the tiles, without `/{z}/...`. */
  url: string
  /** Parameters of the tiles. */
  query: URLSearchParams
  columns: readonly string[] | undefined
}>

/** A JSON object as the comment of a single table is part of its TileJSON. */
export function tileJsonDocument({ layers, bounds, url, query, columns }: TileJsonOptions): TileJson {
  const names = layerNames(layers)
  const [west, south, east, north] = (bounds?.map(rounded) ?? world) as [number, number, number, number]
  const parameters = new URLSearchParams(query)
  parameters.set('v', hashOf([versionOf(layers), layers.map(({ definition }) => definition)]).slice(0, 12))
  const { tiles: _, ...told } = layers.length === 1 ? commentOf(layers[0]!) : {}
  return {
    tilejson: '3.0.0',
    name: names.join(','),
    description: layers.length === 1 && Object.keys(told).length === 0 ? (layers[0]!.comment ?? '') : '',
    scheme: 'xyz',
    vector_layers: layers.map((layer, place) => ({
      id: names[place]!,
      fields: Object.fromEntries(
        layer.properties
          .filter(({ name }) => columns === undefined || columns.includes(name))
          .map(({ name, kind }) => [name, fieldTypes[kind]]),
      ),
      description: isJsonObject(parsed(layer.comment)) ? '' : (layer.comment ?? ''),
    })),
    bounds: [west, south, east, north],
    center: [rounded((west + east) / 2), rounded((south + north) / 2), 0],
    minzoom: 0,
    maxzoom: 18,
    ...told,
    tiles: [`${url}/{z}/{x}/{y}.mvt?${parameters}`],
  }
}

/** To a tenth of a metre. */
export const rounded = (degrees: number) => Math.round(degrees * 1e6) / 1e6
export const world = [-180, -85.051129, 180, 85.051129]

function commentOf({ comment }: Layer): Readonly<Record<string, unknown>> {
  const value = parsed(comment)
  return isJsonObject(value) ? value : {}
}

function parsed(comment: string | null): unknown {
  try {
    return comment === null ? null : JSON.parse(comment)
  } catch {
    return null
  }
}

export const fieldTypes: Readonly<Record<Property['kind'], 'Boolean' | 'Number' | 'String'>> = {
  boolean: 'Boolean',
  integer: 'Number',
  float: 'Number',
  numeric: 'Number',
  text: 'String',
  uuid: 'String',
  enum: 'String',
  date: 'String',
}
