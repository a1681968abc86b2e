import type { LayerSpecification, SourceSpecification } from 'maplibre-gl'

/** The operator's basemap, ready to be added to a map. */
export type OperatorStyle = Readonly<{
  sources: readonly (readonly [id: string, source: SourceSpecification])[]
  layers: readonly LayerSpecification[]
  glyphs: string | undefined
  sprite: string | readonly Readonly<{ id: string; url: string }>[] | undefined
}>

/** No layer or source of a named map begins with this. */
export const stylePrefix = 'basemap:style:'

/** Written into the page by the service; see CARTAGE_MAP_STYLE. */
const tag = document.querySelector<HTMLMetaElement>('meta[name="cartage-map-style"]')
const [light, dark] = tag?.content.split(' ') ?? []

/** The address of the operator's style; undefined: maps have the built-in basemap. */
export const styleAddress = (theme: 'light' | 'dark') => (theme === 'dark' ? dark : light)

export const hasOperatorStyle = light !== undefined

/** Added to the address of the map worker, which may then read from these origins. */
export const workerQuery = tag ? `?${new URLSearchParams({ origins: tag.dataset.origins ?? '' })}` : ''

/** Throws if there is no MapLibre style at the address. */
export async function readOperatorStyle(address: string, signal: AbortSignal): Promise<OperatorStyle> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(longestMs)])
  const answer = await fetch(address, { signal: within, credentials: 'omit' })
  if (!answer.ok) throw new Error(`${address} answers ${answer.status}`)
  const style: unknown = await answer.json()
  if (!isStyle(style)) throw new Error(`${address} is no MapLibre style`)
  const absolute = (relative: string) => absoluteAddress(relative, answer.url)
  const { sources, layers, glyphs, sprite } = style
  return {
    sources: Object.entries(sources).map(([id, source]) => [
      stylePrefix + id,
      withAddresses(source, absolute),
    ]),
    layers: layers.map(prefixed),
    glyphs: glyphs && absolute(glyphs),
    sprite:
      typeof sprite === 'object'
        ? sprite.map(({ id, url }) => ({ id, url: absolute(url) }))
        : sprite && absolute(sprite),
  }
}

const longestMs = 10_000

type Source = Readonly<{ url?: string; tiles?: readonly string[]; data?: unknown }>
type Layer = Readonly<{ id: string; source?: string }>
type Style = Readonly<{
  sources: Readonly<Record<string, Source>>
  layers: readonly Layer[]
  glyphs?: string
  sprite?: string | readonly Readonly<{ id: string; url: string }>[]
}>

/** Whether it has the form of a style. MapLibre checks each source and layer when it is added. */
function isStyle(value: unknown): value is Style {
  const { version, sources, layers } = (value ?? {}) as Readonly<Record<string, unknown>>
  return version === 8 && typeof sources === 'object' && sources !== null && Array.isArray(layers)
}

const withAddresses = (source: Source, absolute: (address: string) => string) =>
  ({
    ...source,
    ...(source.url !== undefined && { url: absolute(source.url) }),
    ...(source.tiles !== undefined && { tiles: source.tiles.map(absolute) }),
    ...(typeof source.data === 'string' && { data: absolute(source.data) }),
  }) as SourceSpecification

const prefixed = (layer: Layer) =>
  ({
    ...layer,
    id: stylePrefix + layer.id,
    ...(layer.source !== undefined && { source: stylePrefix + layer.source }),
  }) as LayerSpecification

/** Keeps `{z}` and the like unchanged. */
const absoluteAddress = (address: string, base: string) =>
  new URL(address, base).href.replaceAll('%7B', '{').replaceAll('%7D', '}')
