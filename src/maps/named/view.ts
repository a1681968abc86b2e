import type { Basemap } from '../../config/config-variables.ts'
import { isJsonObject, type JsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import { readStyle } from './view-style.ts'

/** What the page of a named map shows in addition to its layers. */
export type View = Readonly<{
  title: string | undefined
  description: string | undefined
  /** Layers of a MapLibre style; undefined: each layer of the map in a colour of its own. */
  style: readonly JsonObject[] | undefined
  /** `world`, `none` or an address. */
  basemap: string
  /** Columns by layer of the map. */
  popup: Readonly<Record<string, readonly string[]>>
  legend: readonly LegendSection[]
  center: LngLat | undefined
  zoom: number | undefined
  /** West, south, east, north. */
  bounds: readonly [number, number, number, number] | undefined
}>

type LngLat = readonly [number, number]

export type LegendSection = Readonly<{ title: string | undefined; items: readonly LegendItem[] }>
type LegendItem = Readonly<{ label: string; color: string; shape: LegendShape }>
const legendShapes = ['point', 'line', 'area'] as const
type LegendShape = (typeof legendShapes)[number]

/** Reads `view` of a template; throws on the first fault, with its place. `layerIds`: of the layers that have tiles. */
export function readView(raw: unknown, layerIds: readonly string[]): View {
  const view = raw ?? {}
  if (!isJsonObject(view)) throw fault('view', 'must be an object')
  return {
    title: optionalText(view.title, 'view.title', 200),
    description: optionalText(view.description, 'view.description', 2_000),
    style: readStyle(view.style, layerIds),
    basemap: optionalText(view.basemap, 'view.basemap', 2_000) ?? 'world',
    popup: readPopup(view.popup, layerIds),
    legend: readLegend(view.legend),
    ...readCamera(view),
  }
}

/** Throws if the operator has not allowed it. */
export function requireBasemap({ basemap }: View, allowed: readonly Basemap[]): void {
  if (basemap === 'world' || basemap === 'none') return
  if (allowed.some(({ address }) => address === basemap)) return
  throw fault('view.basemap', 'must be world, none or an address that this server allows')
}

function readPopup(raw: unknown, layerIds: readonly string[]): View['popup'] {
  if (raw === undefined || raw === null) return {}
  if (!isJsonObject(raw)) throw fault('view.popup', 'must be an object with columns by layer')
  return Object.fromEntries(
    Object.entries(raw).map(([layer, columns]) => {
      const place = `view.popup.${layer.slice(0, 100)}`
      if (!layerIds.includes(layer)) throw fault(place, 'is no layer of the map')
      const names = listOf(columns, place, 100)
      return [layer, names.map((name, at) => textOf(name, `${place}[${at}]`, 255))]
    }),
  )
}

function readLegend(raw: unknown): readonly LegendSection[] {
  if (raw === undefined || raw === null) return []
  return listOf(raw, 'view.legend', 20).map((section, at) => {
    const place = `view.legend[${at}]`
    if (!isJsonObject(section)) throw fault(place, 'must be an object with title and items')
    return {
      title: optionalText(section.title, `${place}.title`, 200),
      items: listOf(section.items, `${place}.items`, 100).map((item, each) =>
        readItem(item, `${place}.items[${each}]`),
      ),
    }
  })
}

function readItem(raw: unknown, place: string): LegendItem {
  if (!isJsonObject(raw)) throw fault(place, 'must be an object with label and color')
  const color = textOf(raw.color, `${place}.color`, 100)
  if (!colour.test(color)) throw fault(`${place}.color`, 'must be a colour such as #0b6e6e')
  const shape = legendShapes.find((known) => known === (raw.shape ?? 'point'))
  if (!shape) throw fault(`${place}.shape`, `must be one of ${legendShapes.join(', ')}`)
  return { label: textOf(raw.label, `${place}.label`, 200), color, shape }
}

const colour = /^(?:#(?:[\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})|[a-z]{3,20}|(?:rgb|hsl)a?\([\d\s.,%/-]+\))$/i

/** The members of the classic API. */
function readCamera({ center, zoom, bounds }: JsonObject): Pick<View, 'center' | 'zoom' | 'bounds'> {
  return {
    zoom: zoom === undefined || zoom === null ? undefined : numberOf(zoom, 'view.zoom', 0, 30),
    center: readCenter(center),
    bounds: readBounds(bounds),
  }
}

function readCenter(raw: unknown): LngLat | undefined {
  if (raw === undefined || raw === null) return undefined
  if (!isJsonObject(raw)) throw fault('view.center', 'must be an object with lng and lat')
  return [longitude(raw.lng, 'view.center.lng'), latitude(raw.lat, 'view.center.lat')]
}

function readBounds(raw: unknown): View['bounds'] {
  if (raw === undefined || raw === null) return undefined
  if (!isJsonObject(raw)) throw fault('view.bounds', 'must be an object with west, south, east and north')
  const { west, south, east, north } = raw
  return [
    longitude(west, 'view.bounds.west'),
    latitude(south, 'view.bounds.south'),
    longitude(east, 'view.bounds.east'),
    latitude(north, 'view.bounds.north'),
  ]
}

// Beyond 180 degrees the world begins again.
const longitude = (value: unknown, place: string) => numberOf(value, place, -540, 540)
const latitude = (value: unknown, place: string) => numberOf(value, place, -90, 90)

function numberOf(value: unknown, place: string, least: number, most: number): number {
  if (typeof value === 'number' && value >= least && value <= most) return value
  throw fault(place, `must be a number from ${least} to ${most}`)
}

const optionalText = (value: unknown, place: string, most: number) =>
  value === undefined || value === null ? undefined : textOf(value, place, most)

function textOf(value: unknown, place: string, most: number): string {
  if (typeof value === 'string' && value.length <= most && value.isWellFormed()) return value
  throw fault(place, `must be text of at most ${most} characters`)
}

function listOf(value: unknown, place: string, most: number): readonly unknown[] {
  if (Array.isArray(value) && value.length <= most) return value
  throw fault(place, `must be a list of at most ${most}`)
}

const fault = (place: string, text: string) => errors.mapInvalid(`${place}: ${text}`)
