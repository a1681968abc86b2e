import { isJsonObject, type JsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'

/** The ids of what the basemap draws begin so. */
export const basemapPrefix = 'basemap:'

/** Throws if a layer of the map has the id of a source of the basemap. */
export function requireOwnIds(layergroup: unknown): void {
  const layers = isJsonObject(layergroup) && Array.isArray(layergroup.layers) ? layergroup.layers : []
  const at = layers.findIndex(
    (layer) => isJsonObject(layer) && typeof layer.id === 'string' && layer.id.startsWith(basemapPrefix),
  )
  if (at >= 0) throw fault(`layergroup.layers[${at}].id`, `must not begin with ${basemapPrefix}`)
}

/**
 * Reads the layers of a MapLibre style. Checks what MapLibre does not: that they use the layers of this map alone, and that no image or
 * font is an address. Throws on the first fault, with its place.
 */
export function readStyle(raw: unknown, layerIds: readonly string[]): readonly JsonObject[] | undefined {
  if (raw === undefined || raw === null) return undefined
  if (!Array.isArray(raw) || raw.length > mostLayers)
    throw fault('view.style', `must be a list of at most ${mostLayers} layers of a MapLibre style`)
  if (JSON.stringify(raw).length > mostCharacters)
    throw fault('view.style', `is longer than ${mostCharacters} characters`)
  return raw.map((layer: unknown, at) => readStyleLayer(layer, `view.style[${at}]`, layerIds))
}

/** As MapLibre needs it: the layer of the tiles has the id of the layer of the map. */
export const withSourceLayers = (style: readonly JsonObject[]): readonly JsonObject[] =>
  style.map((layer) => (layer.source === undefined ? layer : { ...layer, 'source-layer': layer.source }))

const mostLayers = 100
const mostCharacters = 64 * 1_024
/** Levels of an expression. */
const deepest = 30

function readStyleLayer(layer: unknown, place: string, layerIds: readonly string[]): JsonObject {
  if (!isJsonObject(layer)) throw fault(place, 'must be a layer of a MapLibre style')
  const { id, type, source, 'source-layer': sourceLayer } = layer
  const unknown = Object.keys(layer).find((name) => !members.has(name))
  if (unknown !== undefined) throw fault(`${place}.${unknown.slice(0, 100)}`, 'is unknown')
  if (typeof id !== 'string' || id === '' || id.length > 255)
    throw fault(`${place}.id`, 'must be text of 1 to 255 characters')
  if (id.startsWith(basemapPrefix)) throw fault(`${place}.id`, `must not begin with ${basemapPrefix}`)
  const isDrawn = type !== 'background'
  if (isDrawn && !layerIds.includes(source as string))
    throw fault(
      `${place}.source`,
      `must be the id of a layer of the map: ${layerIds.join(', ').slice(0, 300)}`,
    )
  if (sourceLayer !== undefined && sourceLayer !== source)
    throw fault(`${place}.source-layer`, 'must be the same as source')
  requireNoAddress(layer, { place, depth: 0, isNamed: false })
  return layer
}

/** MapLibre ignores others. */
const members: ReadonlySet<string> = new Set([
  ...['id', 'type', 'source', 'source-layer', 'minzoom', 'maxzoom', 'filter', 'layout', 'paint', 'metadata'],
])

type Place = Readonly<{
  place: string
  depth: number
  /** The text names an image or font, or unknown programs read it. Other texts are values of rows. */
  isNamed: boolean
}>

function requireNoAddress(value: unknown, { place, depth, isNamed }: Place): void {
  if (depth > deepest) throw fault(place.slice(0, 60), `is nested deeper than ${deepest} levels`)
  if (isNamed && typeof value === 'string' && address.test(value))
    throw fault(place, 'must not be an address')
  if (Array.isArray(value))
    for (const [at, each] of value.entries())
      requireNoAddress(each, { place: `${place}[${at}]`, depth: depth + 1, isNamed })
  else if (isJsonObject(value))
    for (const [name, each] of Object.entries(value))
      requireNoAddress(each, {
        place: `${place}.${name}`,
        depth: depth + 1,
        isNamed: isNamed || naming.test(name),
      })
}

const naming = /^(?:metadata|source|icon-image|text-font|.+-pattern)$/
const address = /^\s*(?:(?:[a-z][a-z\d+.-]*:)?\/\/|(?:javascript|data|blob|file|vbscript):)/i

const fault = (place: string, text: string) => errors.mapInvalid(`${place.slice(0, 200)}: ${text}`)
