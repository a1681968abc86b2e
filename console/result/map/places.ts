import placesName from 'geodata:places'
import type { GeoJSONSourceSpecification, LayerSpecification, Map as MapLibre } from 'maplibre-gl'
import { feature } from 'topojson-client'
import { assetAddress } from '../../parts/browser/address.ts'
import { whenLoaded } from './maplibre-setup.ts'

/** The makers of the data below and on the map of countries. GeoNames requires it. */
export const placesCredit = 'Natural Earth · GeoNames'

/** The zoom is the first at which the name is shown. The most important come first. */
type Name = readonly [name: string, longitude: number, latitude: number, zoom: number]

type Places = Readonly<{
  countries: readonly Name[]
  cities: readonly Name[]
  water: Parameters<typeof feature>[0]
}>

type Sources = Readonly<Record<(typeof sourceNames)[number], GeoJSONSourceSpecification>>
const sourceNames = ['countries', 'cities', 'lakes', 'rivers'] as const

type Theme = 'light' | 'dark'

let read: Promise<Sources> | undefined

/** Read once. A file that could not be loaded is tried again with the next map. */
function readPlaces(): Promise<Sources> {
  read ??= fetch(assetAddress(placesName))
    .then((answer) => answer.json())
    .then(sourcesOf)
  read.catch(() => {
    read = undefined
  })
  return read
}

function sourcesOf({ countries, cities, water }: Places): Sources {
  const source = (data: object) => ({ type: 'geojson', data, maxzoom: 10 }) as GeoJSONSourceSpecification
  const waterOf = (name: string) => source(feature(water, water.objects[name]))
  return {
    countries: source(namesOf(countries)),
    cities: source(namesOf(cities)),
    lakes: waterOf('lakes'),
    rivers: waterOf('rivers'),
  }
}

const namesOf = (names: readonly Name[]) => ({
  type: 'FeatureCollection',
  features: names.map(([name, longitude, latitude, zoom], rank) => ({
    type: 'Feature',
    properties: { name, zoom, rank },
    geometry: { type: 'Point', coordinates: [longitude, latitude] },
  })),
})

/**
 * Adds names of countries and cities, lakes and rivers to a map of the countries of the world once it is drawn: the
 * map's own data comes first. `theme` is called then. Names are above areas and lines, and below points and labels of
 * the map.
 */
export function showPlaces(map: MapLibre, theme: () => Theme): void {
  readPlaces().then(
    (sources) => whenLoaded(map, () => addPlaces(map, sources, theme())),
    () => undefined,
  )
}

function addPlaces(map: MapLibre, sources: Sources, theme: Theme): void {
  const order = map.getLayersOrder()
  const world = order.indexOf('basemap:borders')
  if (world < 0 || map.getSource(idOf('cities'))) return
  for (const name of sourceNames) map.addSource(idOf(name), sources[name])
  const above = order.slice(world + 1)
  for (const layer of waterLayers(theme)) map.addLayer(layer, above[0])
  const points = above.find((id) => ['circle', 'symbol', 'heatmap'].includes(map.getLayer(id)?.type ?? ''))
  for (const layer of nameLayers(theme)) map.addLayer(layer, points)
}

const idOf = (name: (typeof sourceNames)[number]) => `basemap:${name}`

const colours = {
  light: { water: '#e3ebf1', country: '#6b7480', city: '#4a525c', halo: '#fbfaf7' },
  dark: { water: '#10161d', country: '#8b95a1', city: '#a9b2bd', halo: '#161b22' },
} as const

function waterLayers(theme: Theme): LayerSpecification[] {
  const { water } = colours[theme]
  return [
    { id: idOf('lakes'), type: 'fill', source: idOf('lakes'), paint: { 'fill-color': water } },
    {
      id: idOf('rivers'),
      type: 'line',
      source: idOf('rivers'),
      minzoom: 2,
      paint: { 'line-color': water, 'line-width': ['interpolate', ['linear'], ['zoom'], 2, 0.7, 8, 2.5] },
    },
  ]
}

/** The later layer is placed first: a country before a city. */
function nameLayers(theme: Theme): LayerSpecification[] {
  const { country, city, halo } = colours[theme]
  const isDue = ['>=', ['zoom'], ['get', 'zoom']] as never
  const paint = { 'text-halo-color': halo, 'text-halo-width': 1.2 }
  return [
    {
      id: idOf('cities'),
      type: 'symbol',
      source: idOf('cities'),
      filter: isDue,
      layout: {
        'text-field': ['get', 'name'],
        'text-size': ['interpolate', ['linear'], ['zoom'], 3, 10.5, 8, 13],
        'symbol-sort-key': ['get', 'rank'],
        'text-padding': 4,
        'text-max-width': 8,
      },
      paint: { ...paint, 'text-color': city },
    },
    {
      id: idOf('countries'),
      type: 'symbol',
      source: idOf('countries'),
      maxzoom: 8,
      filter: isDue,
      layout: {
        'text-field': ['upcase', ['get', 'name']],
        'text-size': ['interpolate', ['linear'], ['zoom'], 1, 9.5, 6, 14],
        'text-letter-spacing': 0.08,
        'symbol-sort-key': ['get', 'rank'],
        'text-max-width': 7,
      },
      paint: { ...paint, 'text-color': country },
    },
  ]
}
