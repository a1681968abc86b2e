import type { Basemap } from '../../config/config-variables.ts'
import type { JsonObject } from '../../contract/text/json-object.ts'
import { basemapPrefix } from '../../maps/named/view-style.ts'
import { escapeHtml } from '../console/console-files.ts'

export const themes = ['light', 'dark'] as const
export type Theme = (typeof themes)[number]

type Drawn = Readonly<{
  kind: 'world' | 'none' | 'tiles'
  sources: JsonObject
  layers: readonly JsonObject[]
}>
type BasemapOptions = Readonly<{ world: string | undefined; theme: Theme; allowed: readonly Basemap[] }>

/** What is drawn below the layers of a map. An address that is no longer allowed draws nothing. */
export function basemapOf(basemap: string, { world, theme, allowed }: BasemapOptions): Drawn {
  const { water, land, border } = colours[theme]
  if (basemap === 'world' && world !== undefined) return worldOf(world, theme)
  const known = allowed.find(({ address }) => address === basemap)
  const paper = background(basemap === 'world' ? water : land)
  if (!known) return { kind: 'none', sources: {}, layers: [paper] }
  const attribution = escapeHtml(known.attribution)
  return {
    kind: 'tiles',
    sources: {
      [source]: { type: 'raster', tiles: [known.address], tileSize: 256, maxzoom: 19, attribution },
    },
    layers: [background(border), { id: `${basemapPrefix}tiles`, type: 'raster', source }],
  }
}

const source = `${basemapPrefix}source`

const background = (colour: string) => ({
  id: `${basemapPrefix}background`,
  type: 'background',
  paint: { 'background-color': colour },
})

function worldOf(data: string, theme: Theme): Drawn {
  const { water, land, border } = colours[theme]
  return {
    kind: 'world',
    sources: { [source]: { type: 'geojson', data, attribution: 'Natural Earth' } },
    layers: [
      background(water),
      { id: `${basemapPrefix}land`, type: 'fill', source, paint: { 'fill-color': land } },
      {
        id: `${basemapPrefix}borders`,
        type: 'line',
        source,
        paint: { 'line-color': border, 'line-width': 0.7 },
      },
    ],
  }
}

/** The colours of the console. */
const colours = {
  light: { water: '#e3ebf1', land: '#fbfaf7', border: '#c4ccd4' },
  dark: { water: '#10161d', land: '#1c222a', border: '#37414d' },
} as const
