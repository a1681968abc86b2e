import { isJsonObject, type JsonObject } from '../../contract/text/json-object.ts'
import type { Secrets } from '../../secrets.ts'
import { isNamed, type NamedLayer } from './expand-layers.ts'

/** Encrypts the tokens that the named layers of a template have for other templates. */
export const sealLayerTokens = (document: JsonObject, { seal }: Secrets): JsonObject =>
  withLayers(document, (layer) => {
    const { auth_tokens: tokens, ...rest } = layer.options
    if (tokens === undefined) return layer
    return {
      ...layer,
      options: { ...rest, auth_tokens: { [sealed]: seal(JSON.stringify(tokens)).toString('base64') } },
    }
  })

/** The same document as it was sent. */
export const openLayerTokens = (document: JsonObject, { open }: Secrets): JsonObject =>
  withLayers(document, (layer) => {
    const { auth_tokens: tokens, ...rest } = layer.options
    const text = isJsonObject(tokens) ? tokens[sealed] : undefined
    if (typeof text !== 'string') return layer
    return { ...layer, options: { ...rest, auth_tokens: JSON.parse(open(Buffer.from(text, 'base64'))) } }
  })

export const hasNamedLayers = ({ layergroup }: JsonObject): boolean =>
  isJsonObject(layergroup) && Array.isArray(layergroup.layers) && layergroup.layers.some(isNamed)

const sealed = 'sealed'

function withLayers(document: JsonObject, change: (layer: NamedLayer) => NamedLayer): JsonObject {
  const { layergroup } = document
  if (!hasNamedLayers(document)) return document
  const { layers } = layergroup as { layers: readonly unknown[] }
  const changed = layers.map((layer) => (isNamed(layer) ? change(layer) : layer))
  return { ...document, layergroup: { ...(layergroup as JsonObject), layers: changed } }
}
