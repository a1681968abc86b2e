import type { NamedMapTemplate, NamedMapView } from '../../src/contract/documents.ts'
import type { DraftLayer, LayerChoices } from './draft-layer.ts'
import { layerStyle, legendOf } from './layer-style.ts'

export type MapDraft = Readonly<{
  name: string
  title: string
  description: string
  basemap: string
  hasLegend: boolean
  /** Empty: anyone with the address can open it. */
  token: string
  /** The initial view; undefined: all rows. */
  bounds: MapBox | undefined
  layers: readonly DraftLayer[]
}>

export type MapBox = readonly [number, number, number, number]

export const emptyDraft: MapDraft = {
  name: '',
  title: '',
  description: '',
  basemap: 'world',
  hasLegend: true,
  token: '',
  bounds: undefined,
  layers: [],
}

/** The named map of a draft. The draft's first layer is drawn on top. */
export function templateOf(draft: MapDraft): NamedMapTemplate {
  const { name, title, description, basemap, token, bounds } = draft
  const drawn = draft.layers.toReversed()
  const popup = Object.fromEntries(
    drawn.filter((layer) => layer.popup.length > 0).map((layer) => [layer.id, layer.popup]),
  )
  const view: NamedMapView = {
    title,
    ...(description && { description }),
    basemap,
    style: drawn.flatMap(layerStyle),
    popup,
    ...(draft.hasLegend && { legend: draft.layers.map(legendOf) }),
    ...(bounds && { bounds: { west: bounds[0], south: bounds[1], east: bounds[2], north: bounds[3] } }),
  }
  return {
    version: '0.0.1',
    name,
    auth: token ? { method: 'token', valid_tokens: [token] } : { method: 'open' },
    layergroup: { version: '1.8.0', layers: drawn.map(configOf) },
    view,
  }
}

export const configOf = ({ id, sql, geomColumn, srid }: DraftLayer) => ({
  id,
  type: 'mapnik',
  options: { sql, geom_column: geomColumn, srid },
})

/** Undefined if the map was not made here, or was changed by hand so that the editor cannot show it. */
export function draftOf({ name, auth, view, layergroup }: NamedMapTemplate): MapDraft | undefined {
  const {
    title = '',
    description = '',
    basemap = 'world',
    bounds,
    style,
    popup,
    legend,
  } = (view ?? {}) as NamedMapView
  const { layers: configs = [] } = layergroup as { layers?: readonly Config[] }
  const layers = configs.map((config) => layerOf(config, style ?? [], popup?.[config.id ?? ''] ?? []))
  const known = layers.filter((layer) => layer !== undefined)
  if (known.length === 0 || known.length < layers.length) return undefined
  const draft: MapDraft = {
    name,
    title,
    description,
    basemap,
    hasLegend: legend !== undefined,
    token: (auth as { valid_tokens?: readonly string[] } | undefined)?.valid_tokens?.[0] ?? '',
    bounds: bounds && [bounds.west, bounds.south, bounds.east, bounds.north],
    layers: known.toReversed(),
  }
  // The editor must not lose what it would not write itself.
  return canonical(templateOf(draft).view?.style) === canonical(style) ? draft : undefined
}

/** Equal for objects that differ only in the order of members. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  )

type Config = Readonly<{
  id?: string
  options: Readonly<{ sql?: string; geom_column?: string; srid?: number }>
}>

function layerOf(
  { id = '', options }: Config,
  style: readonly Readonly<Record<string, unknown>>[],
  popup: readonly string[],
): DraftLayer | undefined {
  const { metadata } = style.find(({ source }) => source === id) ?? {}
  const choices = (metadata as { 'cartage:layer'?: LayerChoices } | undefined)?.['cartage:layer']
  if (!choices || options.sql === undefined) return undefined
  const { sql, geom_column: geomColumn = 'the_geom_webmercator', srid = 3857 } = options
  return { ...choices, id, sql, geomColumn, srid, popup }
}
