import { errors } from '../../errors.ts'
import { inLayer } from '../../tiles/in-layer.ts'
import { type LayerTemplate, readAnalyses, textOfLayer } from '../map-config.ts'
import { isMembers, type Members } from '../members.ts'
import { renderTemplate } from './template.ts'
import type { StoredTemplate } from './template-store.ts'

/** `templates`: of the layers by their place; null: a layer of the map itself. */
export type ExpandedLayers = Readonly<{ raw: unknown; templates: readonly (LayerTemplate | null)[] }>

export type NamedLayer = Members & Readonly<{ options: Members }>

export const isNamed = (layer: unknown): layer is NamedLayer =>
  isMembers(layer) && layer.type === 'named' && isMembers(layer.options)

type Expanded = Readonly<{ layer: unknown; template: LayerTemplate | null }>

/** Puts the layers of named maps in the place of the layers that name them. */
export function expandLayers(raw: unknown, templateOf: (name: string) => StoredTemplate): ExpandedLayers {
  if (!isMembers(raw) || !Array.isArray(raw.layers) || !raw.layers.some(isNamed))
    return { raw, templates: [] }
  let left = mostCharacters
  const layers = raw.layers.flatMap((layer: unknown, index): readonly Expanded[] => {
    if (!isNamed(layer)) return [{ layer, template: null }]
    const { name, revision } = templateOf(String(layer.options.name))
    const template = { name, revision }
    try {
      const found = layersOf(templateOf(name), layer)
      left -= JSON.stringify(found).length
      if (left < 0) throw errors.mapInvalid(`The map config is longer than ${mostCharacters} characters`)
      return found.map((each) => ({ layer: each, template }))
    } catch (error) {
      throw inLayer(error, { id: String(layer.id ?? `layer${index}`), index, type: 'named' })
    }
  })
  return {
    raw: { ...raw, layers: layers.map(({ layer }) => layer) },
    templates: layers.map(({ template }) => template),
  }
}

/** Of all layers of named maps together. */
const mostCharacters = 256 * 1_024

/** Those of a template, with the values that the layer has for its placeholders. */
function layersOf({ template }: StoredTemplate, { id, options }: NamedLayer): readonly Members[] {
  const document = JSON.parse(template) as Members
  const { config } = options
  const { layers, analyses } = renderTemplate(document, isMembers(config) ? config : {}) as {
    layers: readonly Members[]
    analyses?: unknown
  }
  // So there are no cycles either.
  if (layers.some(({ type }) => type === 'named'))
    throw errors.mapInvalid('Nested named layers are not allowed')
  const queries = readAnalyses(analyses)
  return layers.map((layer, index) => ({
    ...layer,
    ...(typeof id === 'string' && { id: layers.length === 1 ? id : `${id}-${layer.id ?? index}` }),
    options: withOwnSql(layer, index, queries),
  }))
}

/** A layer must not find an analysis of the other map: that SQL would run as the key of the template. */
function withOwnSql(
  { type, options }: Members,
  index: number,
  queries: ReadonlyMap<string, string>,
): Members {
  const { source, ...rest } = options as Members
  if (source === undefined || type === 'http' || type === 'plain') return rest
  return { ...rest, sql: textOfLayer(options as Members, index, queries) }
}
