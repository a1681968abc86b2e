import type { Account, Principal } from '../../auth/account.ts'
import type { Directory } from '../../auth/directory.ts'
import { isJsonObject, type JsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import type { Databases } from '../../postgres/databases.ts'
import type { Secrets } from '../../secrets.ts'
import { inLayer } from '../../tiles/in-layer.ts'
import {
  type CheckedMapConfig,
  type MapLayer,
  mostLayers,
  readMapConfig,
  tooManyLayers,
} from '../map-config.ts'
import { expandLayers, isNamed, labelOf, type NamedLayer } from './expand-layers.ts'
import { isTemplateName } from './template.ts'
import { findTemplateHeads, findTemplates, type StoredTemplate, type TemplateHead } from './template-store.ts'
import { matchingToken } from './viewer-tokens.ts'

type NamedLayersParts = Readonly<{ databases: Databases; directory: Directory; secrets: Secrets }>

/** A config whose named layers name the revision of their template, in place of tokens. It can be kept. */
export type PinnedConfig<T extends TemplateHead = StoredTemplate> = Readonly<{
  raw: unknown
  templates: FoundTemplates<T>
  /** The tokens that opened them. */
  tokens: readonly string[]
}>

/** `epoch`: of the accounts, before they were looked up. */
export type FoundTemplates<T extends TemplateHead = TemplateHead> = Readonly<{
  byName: ReadonlyMap<string, T>
  epoch: number
}>

/** A config with the layers of its templates. `characters`: of all of it as JSON. */
export type ReadConfig = Readonly<{ config: CheckedMapConfig; characters: number }>

/** The principal whose key reads a layer. */
export type ReaderOf = (layer: Pick<MapLayer, 'template'>) => Principal

/** Layers of type `named`: those of a named map inside of another map. They are read as the key that made the named map. */
export class NamedLayers {
  readonly #parts: NamedLayersParts

  constructor(parts: NamedLayersParts) {
    this.#parts = parts
  }

  /** Throws unless each named layer has a token that opens its template. Only a map without such layers is not looked up. */
  pin(account: Account, raw: unknown): Promise<PinnedConfig> {
    return this.#pin(account, raw, findTemplates)
  }

  /** The same config, which cannot be read. */
  pinHeads(account: Account, raw: unknown): Promise<PinnedConfig<TemplateHead>> {
    return this.#pin(account, raw, findTemplateHeads)
  }

  async #pin<T extends TemplateHead>(
    account: Account,
    raw: unknown,
    look: FindByNames<T>,
  ): Promise<PinnedConfig<T>> {
    const given = layersIn(raw)
    const named = given.filter(isNamed)
    if (named.length > 0 && given.length > mostLayers) throw tooManyLayers()
    const templates = await this.#find(account, namesIn(named), look)
    if (named.length === 0) return { raw, templates, tokens: [] }
    const valid = new Map([...templates.byName].map(([name, found]) => [name, this.#validTokens(found)]))
    const tokens = new Set<string>()
    const layers = given.map((layer, index) => {
      if (!isNamed(layer)) return layer
      try {
        const { name, revision } = templateOf(account, layer, index, templates)
        const token = openingToken(valid.get(name)!, textsIn(layer.options.auth_tokens))
        if (token !== undefined) tokens.add(token)
        return { ...layer, options: { name, config: layer.options.config ?? {}, revision } }
      } catch (error) {
        throw inLayer(error, labelOf(layer, index))
      }
    })
    return { raw: { ...(raw as JsonObject), layers }, templates, tokens: [...tokens] }
  }

  /** The templates of a config that was kept. Undefined if one of them has changed since, or is gone. */
  async unpin(account: Account, raw: unknown): Promise<PinnedConfig | undefined> {
    const named = layersIn(raw).filter(isNamed)
    const templates = await this.#find(account, namesIn(named), findTemplates)
    const isSame = ({ options }: NamedLayer) =>
      templates.byName.get(String(options.name))?.revision === options.revision
    return named.every(isSame) ? { raw, templates, tokens: [] } : undefined
  }

  /** Reads a config with the layers of its templates. */
  async read(pinned: PinnedConfig): Promise<ReadConfig> {
    const { raw, templates } = await expandLayers(pinned.raw, pinned.templates.byName)
    return { config: await readMapConfig(raw, templates), characters: JSON.stringify(raw).length }
  }

  /**
   * Who reads the layers of a map now. Undefined if a template has changed since, or is gone. `tokens`: must open the templates
   * again; null: the map itself is one of a template, which has vouched for them. `found`: what this request has looked up.
   */
  async readers(
    principal: Principal,
    { layers }: CheckedMapConfig,
    tokens: readonly string[] | null,
    found?: FoundTemplates,
  ): Promise<ReaderOf | undefined> {
    const used = layers.flatMap(({ template }) => (template ? [template] : []))
    const { account } = principal
    const names = [...new Set(used.map(({ name }) => name))]
    const { byName, epoch } = found ?? (await this.#find(account, names, findTemplateHeads))
    if (used.some(({ name, revision }) => byName.get(name)?.revision !== revision)) return undefined
    const readers = new Map(
      names.map((name) => {
        const template = byName.get(name)!
        if (tokens) openingToken(this.#validTokens(template), tokens)
        if (!template.key.apis.includes('maps')) throw errors.apiForbidden('Forbidden')
        return [name, this.#parts.directory.guest({ account, key: template.key }, epoch)]
      }),
    )
    return ({ template }) => (template ? readers.get(template.name)! : principal)
  }

  async #find<T extends TemplateHead>(
    account: Account,
    names: readonly string[],
    look: FindByNames<T>,
  ): Promise<FoundTemplates<T>> {
    const { epoch } = this.#parts.directory
    const found = names.length === 0 ? [] : await look(this.#parts.databases.control, account, names)
    return { byName: new Map(found.map((template) => [template.name, template])), epoch }
  }

  /** Null: it needs none. */
  #validTokens({ sealedTokens }: TemplateHead): readonly string[] | null {
    return sealedTokens && (JSON.parse(this.#parts.secrets.open(sealedTokens)) as string[])
  }
}

type FindByNames<T> = (
  control: Databases['control'],
  account: Account,
  names: readonly string[],
) => Promise<readonly T[]>

const layersIn = (raw: unknown): readonly unknown[] =>
  isJsonObject(raw) && Array.isArray(raw.layers) ? raw.layers : []

const namesIn = (layers: readonly NamedLayer[]): readonly string[] => [
  ...new Set(layers.map(({ options }) => options.name).filter(isTemplateName)),
]

function templateOf<T extends TemplateHead>(
  { username }: Account,
  { id = null, options: { name } }: NamedLayer,
  index: number,
  { byName }: FoundTemplates<T>,
): T {
  if (id !== null && typeof id !== 'string')
    throw errors.mapInvalid(`The id of layer ${index} must be text without a comma`)
  if (typeof name !== 'string' || name === '')
    throw errors.mapInvalid('Missing Named Map `name` in layer options')
  const found = byName.get(name)
  if (!found) throw errors.notFound(`Template '${name.slice(0, 255)}' of user '${username}'`)
  return found
}

/** The token that opens it; undefined if it needs none. */
function openingToken(valid: readonly string[] | null, given: readonly string[]): string | undefined {
  if (!valid) return undefined
  const token = matchingToken(valid, given)
  if (token === undefined) throw errors.templateForbidden()
  return token
}

const textsIn = (tokens: unknown): readonly string[] =>
  [tokens].flat().filter((token): token is string => typeof token === 'string' && token !== '')
