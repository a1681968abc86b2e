import type { Account, Principal } from '../../auth/account.ts'
import type { Directory } from '../../auth/directory.ts'
import { errors } from '../../errors.ts'
import type { Databases } from '../../postgres/databases.ts'
import type { Secrets } from '../../secrets.ts'
import { inLayer } from '../../tiles/in-layer.ts'
import { type LayerTemplate, type MapConfig, type MapLayer, readMapConfig } from '../map-config.ts'
import { isMembers, type Members } from '../members.ts'
import { type ExpandedLayers, expandLayers, isNamed } from './expand-layers.ts'
import { findTemplate, type StoredTemplate } from './template-store.ts'
import { matchingToken } from './viewer-tokens.ts'

type Parts = Readonly<{ databases: Databases; directory: Directory; secrets: Secrets }>

/** A config whose named layers name the revision of their template, in place of tokens. It can be kept. */
export type PinnedConfig = Readonly<{
  raw: unknown
  templates: Templates
  /** That opened them. */
  tokens: readonly string[]
}>

/** By name. */
type Templates = ReadonlyMap<string, StoredTemplate>

/** Whose key reads a layer. */
export type ReaderOf = (layer: MapLayer) => Principal

/** Layers of type `named`: those of a named map inside of another map. They are read as the key that made the named map. */
export class NamedLayers {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Throws unless each named layer has a token that opens its template. Only a map without such layers is not looked up. */
  async pin(account: Account, raw: unknown): Promise<PinnedConfig> {
    const given = layersIn(raw)
    const templates = new Map<string, StoredTemplate>()
    const tokens = new Set<string>()
    if (!given.some(isNamed)) return { raw, templates, tokens: [] }
    const layers: unknown[] = []
    for (const [index, layer] of given.entries()) {
      if (!isNamed(layer)) {
        layers.push(layer)
        continue
      }
      try {
        const { name, config = {} } = layer.options
        const stored = await this.#named(account, name, templates)
        const token = this.#opening(stored, textsIn(layer.options.auth_tokens))
        if (token !== undefined) tokens.add(token)
        templates.set(stored.name, stored)
        layers.push({ ...layer, options: { name, config, revision: stored.revision } })
      } catch (error) {
        throw inLayer(error, { id: String(layer.id ?? `layer${index}`), index, type: 'named' })
      }
    }
    return { raw: { ...(raw as Members), layers }, templates, tokens: [...tokens] }
  }

  /** The templates of a config that was kept. Undefined if one of them has changed since, or is gone. */
  async unpin(account: Account, raw: unknown): Promise<PinnedConfig | undefined> {
    const templates = new Map<string, StoredTemplate>()
    for (const layer of layersIn(raw).filter(isNamed)) {
      const { name, revision } = layer.options as { name: string; revision: string }
      const stored = templates.get(name) ?? (await this.#find(account, name))
      if (stored?.revision !== revision) return undefined
      templates.set(name, stored)
    }
    return { raw, templates, tokens: [] }
  }

  /** Reads a config with the layers of its templates. */
  async read(pinned: PinnedConfig): Promise<MapConfig> {
    const { raw, templates } = this.expand(pinned)
    return readMapConfig(raw, templates)
  }

  /** A config without layers of type `named`. */
  expand({ raw, templates }: PinnedConfig): ExpandedLayers {
    return expandLayers(raw, (name) => templates.get(name)!)
  }

  /**
   * Who reads the layers of a map now. Undefined if a template has changed since, or is gone. `tokens`: must open the templates
   * again; null: the map itself is one of a template, which has vouched for them.
   */
  async readers(
    principal: Principal,
    { layers }: MapConfig,
    tokens: readonly string[] | null,
  ): Promise<ReaderOf | undefined> {
    const used = layers.flatMap(({ template }) => (template ? [template] : []))
    const readers = new Map<string, Principal>()
    for (const template of used) {
      if (readers.has(template.name)) continue
      const reader = await this.#reader(principal.account, template, tokens)
      if (!reader) return undefined
      readers.set(template.name, reader)
    }
    return ({ template }) => (template ? readers.get(template.name)! : principal)
  }

  async #reader(
    account: Account,
    { name, revision }: LayerTemplate,
    tokens: readonly string[] | null,
  ): Promise<Principal | undefined> {
    const { epoch } = this.#parts.directory
    const stored = await this.#find(account, name)
    if (stored?.revision !== revision) return undefined
    if (tokens) this.#opening(stored, tokens)
    return this.#parts.directory.guest({ account, key: stored.key }, epoch)
  }

  async #named(account: Account, name: unknown, known: Templates): Promise<StoredTemplate> {
    if (typeof name !== 'string' || name === '')
      throw errors.mapInvalid('Missing Named Map `name` in layer options')
    const found = known.get(name) ?? (await this.#find(account, name))
    if (found) return found
    throw errors.notFound(`Template '${name.slice(0, 255)}' of user '${account.username}'`)
  }

  #find(account: Account, name: string): Promise<StoredTemplate | undefined> {
    return findTemplate(this.#parts.databases.control, account, { name })
  }

  /** The token that opens it; undefined if it needs none. */
  #opening({ sealedTokens }: StoredTemplate, given: readonly string[]): string | undefined {
    if (!sealedTokens) return undefined
    const valid = JSON.parse(this.#parts.secrets.open(sealedTokens)) as string[]
    const token = matchingToken(valid, given)
    if (token === undefined) throw errors.templateForbidden()
    return token
  }
}

const layersIn = (raw: unknown): readonly unknown[] =>
  isMembers(raw) && Array.isArray(raw.layers) ? raw.layers : []

const textsIn = (tokens: unknown): readonly string[] =>
  [tokens].flat().filter((token): token is string => typeof token === 'string' && token !== '')
