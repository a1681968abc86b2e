import { setImmediate } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import { inLayer } from '../../tiles/in-layer.ts'
import {
  type LayerTemplate,
  mostLayers,
  readAnalyses,
  textOfLayer,
  tooManyLayers,
  zoomsOf,
} from '../map-config.ts'
import { renderTemplate } from './template.ts'
import type { StoredTemplate } from './template-store.ts'

/** `templates`: of the layers by their place; null: a layer of the map itself. */
export type ExpandedLayers = Readonly<{ raw: unknown; templates: readonly (LayerTemplate | null)[] }>

export type NamedLayer = JsonObject & Readonly<{ options: JsonObject }>

export const isNamed = (layer: unknown): layer is NamedLayer =>
  isJsonObject(layer) && layer.type === 'named' && isJsonObject(layer.options)

/** Names a named layer in errors. */
export const labelOf = ({ id }: NamedLayer, index: number) => ({
  id: typeof id === 'string' ? id : `layer${index}`,
  index,
  type: 'named',
})

/**
 * Puts the layers of named maps in the place of the layers that name them. To fill in a long template takes time: others have
 * their turn between.
 */
export async function expandLayers(
  raw: unknown,
  templates: ReadonlyMap<string, StoredTemplate>,
): Promise<ExpandedLayers> {
  if (!isJsonObject(raw) || !Array.isArray(raw.layers) || !raw.layers.some(isNamed))
    return { raw, templates: [] }
  const documents = new Map<string, JsonObject>()
  const layers: unknown[] = []
  const places: (LayerTemplate | null)[] = []
  let left = mostCharacters
  for (const [index, layer] of raw.layers.entries()) {
    if (layers.length >= mostLayers) throw tooManyLayers()
    if (!isNamed(layer)) {
      layers.push(layer)
      places.push(null)
      continue
    }
    await setImmediate()
    try {
      const stored = templates.get(String(layer.options.name))!
      const { name, revision } = stored
      const document = documents.get(name) ?? documentOf(stored)
      documents.set(name, document)
      const found = layersOf(document, layer)
      left -= JSON.stringify(found).length
      if (left < 0) throw errors.mapInvalid(`The map config is longer than ${mostCharacters} characters`)
      layers.push(...found)
      places.push(...found.map(() => ({ name, revision })))
    } catch (error) {
      throw inLayer(error, labelOf(layer, index))
    }
  }
  return { raw: { ...raw, layers }, templates: places }
}

/** Characters of all layers of named maps together. */
const mostCharacters = 256 * 1_024

/** What of a template becomes layers of another map. */
function documentOf({ template }: StoredTemplate): JsonObject {
  const { layergroup, placeholders } = JSON.parse(template) as {
    layergroup: JsonObject
    placeholders: unknown
  }
  const { layers, analyses, minzoom, maxzoom } = layergroup
  return { layergroup: { layers, analyses, minzoom, maxzoom }, placeholders }
}

/** The layers of a template, filled with the values that the named layer has for its placeholders. */
function layersOf(document: JsonObject, { id, options }: NamedLayer): readonly JsonObject[] {
  const { config } = options
  const group = renderTemplate(document, isJsonObject(config) ? config : {}) as JsonObject & {
    layers: readonly JsonObject[]
  }
  const { layers } = group
  if (layers.length > mostLayers) throw tooManyLayers()
  // So there are no cycles either.
  if (layers.some(({ type }) => type === 'named'))
    throw errors.mapInvalid('Nested named layers are not allowed')
  const queries = readAnalyses(group.analyses)
  return layers.map((layer, index) => ({
    ...layer,
    ...(typeof id === 'string' && { id: layers.length === 1 ? id : `${id}-${ownId(layer, index)}` }),
    options: ownOptions(layer, index, queries, group),
  }))
}

function ownId({ id }: JsonObject, index: number): string {
  if (id === undefined || id === null) return String(index)
  if (typeof id === 'string') return id
  throw errors.mapInvalid(`The id of layer ${index} must be text without a comma`)
}

/** The options as in its own map: with the SQL of its analyses, and only at its zooms. */
function ownOptions(
  { type, options }: JsonObject,
  index: number,
  queries: ReadonlyMap<string, string>,
  group: JsonObject,
): JsonObject {
  // A layer must not find an analysis of the other map: that SQL would run as the key of the template.
  const { source, ...rest } = options as JsonObject
  if (type === 'http' || type === 'plain') return rest
  const own = zoomsOf(rest)
  const whole = zoomsOf(group)
  const zooms = {
    minzoom: Math.max(own.minzoom, whole.minzoom),
    maxzoom: Math.min(own.maxzoom, whole.maxzoom),
  }
  if (source === undefined) return { ...rest, ...zooms }
  return { ...rest, ...zooms, sql: textOfLayer(options as JsonObject, index, queries) }
}
