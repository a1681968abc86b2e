import type { Secrets } from '../../secrets.ts'
import { isMembers, type Members } from '../members.ts'
import { isNamed, type NamedLayer } from './expand-layers.ts'

/** Encrypts the tokens that the named layers of a template have for other templates. */
export const sealLayerTokens = (document: Members, { seal }: Secrets): Members =>
  withLayers(document, (layer) => {
    const { auth_tokens: tokens, ...rest } = layer.options
    if (tokens === undefined) return layer
    return {
      ...layer,
      options: { ...rest, auth_tokens: { [sealed]: seal(JSON.stringify(tokens)).toString('base64') } },
    }
  })

/** The same document as it was sent. */
export const openLayerTokens = (document: Members, { open }: Secrets): Members =>
  withLayers(document, (layer) => {
    const { auth_tokens: tokens, ...rest } = layer.options
    const text = isMembers(tokens) ? tokens[sealed] : undefined
    if (typeof text !== 'string') return layer
    return { ...layer, options: { ...rest, auth_tokens: JSON.parse(open(Buffer.from(text, 'base64'))) } }
  })

export const hasNamedLayers = ({ layergroup }: Members): boolean =>
  isMembers(layergroup) && Array.isArray(layergroup.layers) && layergroup.layers.some(isNamed)

const sealed = 'sealed'

function withLayers(document: Members, change: (layer: NamedLayer) => NamedLayer): Members {
  const { layergroup } = document
  if (!hasNamedLayers(document)) return document
  const { layers } = layergroup as { layers: readonly unknown[] }
  const changed = layers.map((layer) => (isNamed(layer) ? change(layer) : layer))
  return { ...document, layergroup: { ...(layergroup as Members), layers: changed } }
}
