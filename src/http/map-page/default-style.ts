import type { JsonObject } from '../../contract/text/json-object.ts'
import type { Theme } from './basemap.ts'

/** For a map without a style: each layer in a colour of its own, whatever its geometries are. */
export function defaultStyle(layerIds: readonly string[], theme: Theme): readonly JsonObject[] {
  const parts = layerIds.map((id, at) => partsOf(id, colours[at % colours.length]!, theme))
  // Points above lines above areas.
  return [0, 1, 2].flatMap((kind) => parts.map((each) => each[kind]!))
}

function partsOf(source: string, colour: string, theme: Theme): readonly JsonObject[] {
  const from = { source, 'source-layer': source }
  const edge = theme === 'dark' ? '#0f1216' : '#ffffff'
  return [
    {
      id: `${source}-areas`,
      type: 'fill',
      ...from,
      filter: ofKind('Polygon'),
      paint: { 'fill-color': colour, 'fill-opacity': 0.45 },
    },
    {
      id: `${source}-lines`,
      type: 'line',
      ...from,
      filter: ofKind('Polygon', 'LineString'),
      paint: { 'line-color': colour, 'line-width': 1.5 },
    },
    {
      id: `${source}-points`,
      type: 'circle',
      ...from,
      filter: ofKind('Point'),
      paint: {
        'circle-color': colour,
        'circle-radius': ['interpolate', ['linear'], ['zoom'], 0, 2.5, 6, 4, 12, 6],
        'circle-stroke-color': edge,
        'circle-stroke-width': 0.7,
      },
    },
  ]
}

/** QGIS 3.22 reads no expression of the geometry type. A kind has its MULTI form too. */
const ofKind = (...kinds: string[]) => ['in', '$type', ...kinds]

/** Distinguishable for most colour-blind people. */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#7f5fc0', '#b8a600']
