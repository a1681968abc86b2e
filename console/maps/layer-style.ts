import type { MapLegendSection } from '../../src/contract/documents.ts'
import type { ColourBy, DraftLayer, LayerChoices } from './draft-layer.ts'
import { categoryColours, coloursIn, otherColour } from './ramps.ts'

type StyleLayer = Readonly<Record<string, unknown>>

/** The layers of a MapLibre style that draw a layer of a map. The first has the choices of the editor. */
export function layerStyle(layer: DraftLayer): readonly StyleLayer[] {
  const { id, minzoom, maxzoom } = layer
  const drawn = layer.label === '' ? shapesOf(layer) : [...shapesOf(layer), labelOf(layer)]
  return drawn.map(({ part, ...each }, at) => ({
    id: at === 0 ? id : `${id} ${part}`,
    source: id,
    ...(minzoom > 0 && { minzoom }),
    ...(maxzoom < deepest && { maxzoom }),
    ...each,
    ...(at === 0 && { metadata: { 'cartage:layer': choicesOf(layer) } }),
  }))
}

/** The deepest zoom of MapLibre. */
export const deepest = 24

function choicesOf({ id: _, sql, geomColumn, srid, popup, ...choices }: DraftLayer): LayerChoices {
  return choices
}

function shapesOf({ kind, colour, size, opacity }: DraftLayer): readonly (StyleLayer & { part: string })[] {
  const painted = colourExpression(colour)
  if (kind === 'point') {
    const paint = {
      'circle-color': painted,
      'circle-radius': size,
      'circle-opacity': opacity,
      'circle-stroke-color': '#ffffff',
      'circle-stroke-width': 0.7,
      'circle-stroke-opacity': opacity,
    }
    return [{ part: 'points', type: 'circle', paint }]
  }
  const line = { 'line-color': painted, 'line-width': size, 'line-opacity': opacity }
  const round = { 'line-cap': 'round', 'line-join': 'round' }
  if (kind === 'line') return [{ part: 'lines', type: 'line', layout: round, paint: line }]
  return [
    { part: 'areas', type: 'fill', paint: { 'fill-color': painted, 'fill-opacity': opacity } },
    {
      part: 'edges',
      type: 'line',
      layout: round,
      paint: { 'line-color': '#ffffff', 'line-width': size, 'line-opacity': opacity },
    },
  ]
}

function labelOf({ label, kind }: DraftLayer): StyleLayer & { part: string } {
  return {
    part: 'labels',
    type: 'symbol',
    layout: {
      'text-field': ['to-string', ['get', label]],
      'text-size': 12,
      ...(kind === 'point' && { 'text-anchor': 'top', 'text-offset': [0, 0.7] }),
      ...(kind === 'line' && { 'symbol-placement': 'line' }),
    },
    paint: { 'text-color': '#1a1f26', 'text-halo-color': '#ffffff', 'text-halo-width': 1.5 },
  }
}

function colourExpression(colour: ColourBy): unknown {
  if (colour.by === 'one') return colour.colour
  const value = ['get', colour.column]
  if (colour.by === 'numbers') {
    const colours = coloursOf(colour)
    if (colour.breaks.length === 0) return colours[0]
    const steps = colour.breaks.flatMap((bound, at) => [bound, colours[at + 1]])
    return ['case', ['has', colour.column], ['step', ['to-number', value], colours[0], ...steps], otherColour]
  }
  if (colour.values.length === 0) return otherColour
  const cases = colour.values.flatMap((name, at) => [name, categoryColours[at % categoryColours.length]])
  return ['match', ['to-string', value], ...cases, otherColour]
}

const coloursOf = ({ ramp, breaks }: ColourBy & { by: 'numbers' }) => coloursIn(ramp, breaks.length + 1)

export function legendOf({ title, kind, colour }: DraftLayer): MapLegendSection {
  const items = itemsOf(title, colour).map((item) => ({ ...item, shape: kind }))
  return colour.by === 'one' ? { items } : { title: `${title}: ${colour.column}`.slice(0, 200), items }
}

type Item = Readonly<{ label: string; color: string }>

function itemsOf(title: string, colour: ColourBy): readonly Item[] {
  if (colour.by === 'one') return [{ label: title, color: colour.colour }]
  if (colour.by === 'categories') {
    const items = colour.values.map((label, at) => ({
      label: label === '' ? '(empty)' : label.slice(0, 200),
      color: categoryColours[at % categoryColours.length]!,
    }))
    return [...items, { label: 'other', color: otherColour }]
  }
  const colours = coloursOf(colour)
  const { breaks } = colour
  if (breaks.length === 0) return [{ label: 'all', color: colours[0]! }]
  return colours.map((color, at) => ({ color, label: labelOfClass(breaks, at) }))
}

function labelOfClass(breaks: readonly number[], at: number): string {
  const shown = (bound: number | undefined) => numbers.format(bound!)
  if (at === 0) return `below ${shown(breaks[0])}`
  if (at === breaks.length) return `${shown(breaks.at(-1))} or more`
  return `${shown(breaks[at - 1])} to ${shown(breaks[at])}`
}

const numbers = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6 })
