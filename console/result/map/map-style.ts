import worldName from 'geodata:world'
import type {
  CircleLayerSpecification,
  DataDrivenPropertyValueSpecification,
  LayerSpecification,
  StyleSpecification,
} from 'maplibre-gl'
import { feature } from 'topojson-client'
import type { Classes } from '../../geo/classes.ts'
import type { Shape } from '../../geo/shapes.ts'
import { assetAddress } from '../../parts/browser/address.ts'
import { colourOf, shownTheme } from '../../parts/browser/theme.ts'

/** Distinguishable for most colour-blind people. */
const categoryColours = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#56b4e9',
  '#d55e00',
  '#b8a600',
  '#7f5fc0',
]
const otherColour = '#8a8f98'
/** From low to high. */
const classColours = ['#46327e', '#365c8d', '#1fa187', '#6ece58', '#fde725']

/** One colour per label of the legend. */
export const coloursOf = ({ isNumeric, breaks }: Classes): readonly string[] =>
  isNumeric
    ? [...classColours.slice(0, breaks.length + 1), otherColour]
    : [...categoryColours.slice(0, breaks.length), otherColour]

export const shapeLayers = ['shape-areas', 'shape-lines', 'shape-points']

/** The countries of the world, from this service. */
export async function readWorld(): Promise<object> {
  const topology = await (await fetch(assetAddress(worldName))).json()
  return feature(topology, topology.objects.countries)
}

/** The style of the map of a result, in the colours of the theme. */
export function resultStyle(
  world: object,
  features: readonly Shape[],
  classes: Classes | undefined,
): StyleSpecification {
  const data = { type: 'FeatureCollection', features } as never
  return styleOf(world, { shapes: { type: 'geojson', data } }, [
    ...layersOf({ source: 'shapes' }, colourExpression(classes)),
    ...selectedLayers(),
  ])
}

/** The style of a map of tiles. A point with a count `n` of more than one row is a cell. */
export function tilesStyle(
  world: object,
  tiles: string,
  layer: string,
  classes?: Classes | undefined,
): StyleSpecification {
  const from = { source: 'rows', 'source-layer': layer }
  const colour = colourExpression(classes)
  const shapes = layersOf(from, colour).filter(({ id }) => id !== 'shape-points')
  const isPoint = ofKind('Point', 'MultiPoint')
  const isCell = ['>', ['to-number', ['get', 'n'], 1], 1] as const
  return styleOf(world, { rows: { type: 'vector', tiles: [tiles], maxzoom: 22 } }, [
    ...shapes,
    {
      id: 'points',
      type: 'circle',
      ...from,
      filter: ['all', isPoint, ['!', isCell]] as never,
      paint: pointPaint(colour),
    },
    {
      id: 'cells',
      type: 'circle',
      ...from,
      filter: ['all', isPoint, isCell] as never,
      paint: {
        'circle-radius': cellRadius,
        'circle-color': ['step', ['get', 'n'], ...cellSteps().flat().slice(1)] as never,
      },
    },
  ])
}

/** A cell is two pixels wide. */
const cellRadius = 1.7

/** The colours of cells, each with the number of rows from which it applies. */
export const cellSteps = (): readonly (readonly [number, string])[] =>
  (shownTheme.value === 'dark' ? classColours : classColours.toReversed()).map(
    (colour, at) => [10 ** at, colour] as const,
  )

function styleOf(
  world: object,
  sources: StyleSpecification['sources'],
  layers: LayerSpecification[],
): StyleSpecification {
  return {
    version: 8,
    sources: { [groundSource]: { type: 'geojson', data: world as never }, ...sources },
    layers: [...worldLayers(), ...layers],
  }
}

const groundSource = 'basemap:source'

function worldLayers(): LayerSpecification[] {
  return [
    { id: 'basemap:background', type: 'background', paint: { 'background-color': colourOf('water') } },
    { id: 'basemap:land', type: 'fill', source: groundSource, paint: { 'fill-color': colourOf('land') } },
    {
      id: 'basemap:borders',
      type: 'line',
      source: groundSource,
      paint: { 'line-color': colourOf('border-of-land'), 'line-width': 0.7 },
    },
  ]
}

type Colour = DataDrivenPropertyValueSpecification<string>

const ofKind = (...kinds: string[]) => ['in', ['geometry-type'], ['literal', kinds]] as const

type From = Readonly<{ source: string; 'source-layer'?: string }>

function layersOf(from: From, colour: Colour): LayerSpecification[] {
  const areas = ofKind('Polygon', 'MultiPolygon')
  const lines = ofKind('Polygon', 'MultiPolygon', 'LineString', 'MultiLineString')
  const points = ofKind('Point', 'MultiPoint')
  return [
    {
      id: 'shape-areas',
      type: 'fill',
      ...from,
      filter: areas as never,
      paint: { 'fill-color': colour, 'fill-opacity': 0.5 },
    },
    {
      id: 'shape-lines',
      type: 'line',
      ...from,
      filter: lines as never,
      paint: { 'line-color': colour, 'line-width': 1.5 },
    },
    {
      id: 'shape-points',
      type: 'circle',
      ...from,
      filter: points as never,
      paint: pointPaint(colour),
    },
  ]
}

const pointRadius = ['interpolate', ['linear'], ['zoom'], 0, 2.5, 6, 4, 12, 6] as never as number

const pointPaint = (colour: Colour = colourOf('mark')): CircleLayerSpecification['paint'] & object => ({
  'circle-color': colour,
  'circle-radius': pointRadius,
  'circle-stroke-color': colourOf('surface'),
  'circle-stroke-width': 0.7,
})

const nothing = ['==', ['id'], -1] as const

function selectedLayers(): LayerSpecification[] {
  const colour = colourOf('text')
  return [
    {
      id: 'selected-lines',
      type: 'line',
      source: 'shapes',
      filter: nothing as never,
      paint: { 'line-color': colour, 'line-width': 3 },
    },
    {
      id: 'selected-points',
      type: 'circle',
      source: 'shapes',
      filter: ['all', nothing, ofKind('Point', 'MultiPoint')] as never,
      paint: {
        'circle-color': colourOf('mark'),
        'circle-radius': 8,
        'circle-stroke-color': colour,
        'circle-stroke-width': 2,
      },
    },
  ]
}

/** The filters that select the shape of a row. */
export const selectedFilters = (row: number) =>
  [
    ['selected-lines', ['==', ['id'], row]],
    ['selected-points', ['all', ['==', ['id'], row], ofKind('Point', 'MultiPoint')]],
  ] as const

function colourExpression(classes: Classes | undefined): Colour {
  if (!classes) return colourOf('mark')
  const colours = coloursOf(classes)
  const [first = otherColour] = colours
  if (classes.breaks.length === 0) return first
  if (classes.isNumeric) {
    const steps = classes.breaks.flatMap((upper, at) => [upper, colours[at + 1]!])
    const byClass = ['step', ['to-number', ['get', 'colour']], first, ...steps]
    return ['case', ['==', ['get', 'colour'], null], otherColour, byClass] as unknown as Colour
  }
  const cases = classes.breaks.flatMap((name, at) => [name, colours[at]!])
  const value = ['case', ['==', ['get', 'colour'], null], 'NULL', ['get', 'colour']]
  return ['match', value, ...cases, otherColour] as Colour
}
