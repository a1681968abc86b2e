import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Account, Principal } from '../../auth/account.ts'
import type { Directory } from '../../auth/directory.ts'
import type { Config } from '../../config/config.ts'
import { isJsonObject, type JsonObject } from '../../contract/text/json-object.ts'
import { AppError, errors } from '../../errors.ts'
import type { Databases } from '../../postgres/databases.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import type { Secrets } from '../../secrets.ts'
import type { Bounds } from '../../tiles/describe-layers.ts'
import type { Tiles } from '../../tiles/tiles.ts'
import { letOthersIn } from '../config-text.ts'
import { type CheckedMapConfig, withoutAggregation } from '../map-config.ts'
import type { InstantiatedMap, Maps, OpenedMap } from '../maps.ts'
import { StyleChecks } from './check-style.ts'
import { hasNamedLayers, openLayerTokens, sealLayerTokens } from './layer-tokens.ts'
import { MapBounds } from './map-bounds.ts'
import { readTemplate, renderTemplate, type Template } from './template.ts'
import {
  deleteTemplate,
  findTemplate,
  findTemplateByRevision,
  findTemplateHeads,
  insertTemplate,
  listTemplates,
  mostTemplates,
  type NewTemplate,
  type StoredTemplate,
  type TemplateHead,
  updateTemplate,
} from './template-store.ts'
import { readView, requireBasemap, type View } from './view.ts'
import { requireOwnIds, withSourceLayers } from './view-style.ts'
import { matchingToken } from './viewer-tokens.ts'

type NamedMapsParts = Readonly<{
  config: Config
  databases: Databases
  directory: Directory
  secrets: Secrets
  tiles: Tiles
  maps: Maps
}>

/** What the text of a template says. */
type TemplateText = Readonly<{
  document: JsonObject
  /** The config that the defaults of its placeholders make. */
  defaults: unknown
  /** Characters of both. */
  characters: number
}>

/** As whom a template runs for a viewer. */
type Admitted = Readonly<{
  principal: Principal
  /** The token that opened it; undefined if it needs none. */
  token: string | undefined
}>

/** A template with who may see it, ready to run. */
export type OpenTemplate = Admitted & TemplateText & Readonly<{ stored: TemplateHead }>

/** `values`: of its placeholders. `isAggregated` false: the points of all layers are shown as they are. */
export type FilledIn = Readonly<{ values: unknown; isAggregated: boolean }>

/** A template as its page shows it. */
export type ShownMap = Readonly<{
  template: OpenTemplate
  /** With the defaults of its placeholders. */
  config: CheckedMapConfig
  view: View
  /** Where its rows are, if `view` does not say what to show and they can be read. */
  bounds: Bounds | null
}>

/** Templates of maps. Managed by keys, opened by anyone who has their token; each runs as the key that made it. */
export class NamedMaps {
  readonly #parts: NamedMapsParts
  readonly #styles = new StyleChecks()
  /** By revision. Who may open a template, and as whom it runs, is looked up each time. */
  readonly #texts = new LRUCache<string, TemplateText>({ max: 1_000, maxSize: knownCharacters })
  /** What was read of a template, by its revision: faults too. */
  readonly #read = new LRUCache<string, Promise<ReadTemplate>>({ max: 1_000, maxSize: knownCharacters })
  readonly #bounds: MapBounds
  /** Revisions of templates whose bounds could not be read a moment ago. */
  readonly #failed = new LRUCache<string, true>({ max: 1_000, ttl: failedMs })

  constructor(parts: NamedMapsParts) {
    this.#parts = parts
    this.#bounds = new MapBounds(parts.maps, parts.tiles)
  }

  async create(principal: Principal, raw: unknown): Promise<string> {
    const template = await this.#checked(principal.account, raw)
    const made = await insertTemplate(this.#control, principal, this.#stored(template))
    const { username } = principal.account
    if (made === 'taken')
      throw errors.mapInvalid(`Template '${template.name}' of user '${username}' already exists`)
    if (made === 'full') throw errors.tooManyTemplates(username, mostTemplates)
    return template.name
  }

  async replace(principal: Principal, name: string, raw: unknown): Promise<string> {
    const { account } = principal
    const template = await this.#checked(account, raw)
    if (template.name !== name)
      throw errors.mapInvalid(
        `Cannot update name of a map template ('${name.slice(0, 255)}' != '${template.name}')`,
      )
    if (!(await updateTemplate(this.#control, account, ownOnly(principal), this.#stored(template))))
      throw notFound(account, name)
    return name
  }

  async read(
    principal: Principal,
    name: string,
  ): Promise<Readonly<{ template: JsonObject; runs_as: string }>> {
    const found = await findTemplate(this.#control, principal.account, name)
    const own = ownOnly(principal)
    if (!found || (own !== undefined && found.key.id !== own)) throw notFound(principal.account, name)
    const document = this.#documentOf(found)
    const tokens = this.#tokensOf(found)
    const auth = isJsonObject(document.auth) ? document.auth : {}
    const template = tokens ? { ...document, auth: { ...auth, valid_tokens: tokens } } : document
    return { template, runs_as: found.key.name }
  }

  list(principal: Principal): Promise<readonly string[]> {
    return listTemplates(this.#control, principal.account, ownOnly(principal))
  }

  async delete(principal: Principal, name: string): Promise<void> {
    if (!(await deleteTemplate(this.#control, principal.account, ownOnly(principal), name)))
      throw notFound(principal.account, name)
  }

  /** Throws unless one of the tokens opens it. */
  async open(account: Account, name: string, tokens: readonly string[]): Promise<OpenTemplate> {
    const { epoch } = this.#parts.directory
    const [head] = await findTemplateHeads(this.#control, account, [name])
    const known = head && this.#texts.get(head.revision)
    if (known) return { ...this.#admit(account, head, tokens, epoch), ...known, stored: head }
    const stored = head && (await findTemplate(this.#control, account, name))
    if (!stored) throw notFound(account, name)
    return { ...this.#admit(account, stored, tokens, epoch), ...this.#readText(stored), stored }
  }

  /** How it is shown. Throws unless one of the tokens opens it. */
  async view(account: Account, name: string, tokens: readonly string[]): Promise<Omit<ShownMap, 'bounds'>> {
    const template = await this.open(account, name, tokens)
    const size = template.characters + 1_000
    const key = await this.#readKey(template)
    const known = this.#read.get(key)
    if (known) return { template, ...(await known).shown }
    const read = this.#readShown(template)
    this.#read.set(key, read, { size })
    const { shown, characters } = await read
    if (this.#read.peek(key) === read) this.#read.set(key, read, { size: size + characters })
    return { template, ...shown }
  }

  /** Named maps in it can change without it. */
  async #readKey({ stored, document, defaults, principal }: OpenTemplate): Promise<string> {
    const { revision } = stored
    if (!hasNamedLayers(document)) return revision
    return `${revision} ${(await this.#parts.maps.identify(principal.account, defaults, revision)).id}`
  }

  /** The same with where its rows are. */
  async show(account: Account, name: string, tokens: readonly string[], gone: AbortLike): Promise<ShownMap> {
    const shown = await this.view(account, name, tokens)
    const isPlaced = shown.view.bounds !== undefined || shown.view.center !== undefined
    return { ...shown, bounds: isPlaced ? null : await this.#boundsOf(shown.template, gone) }
  }

  /** The same with its layers as they are now. */
  async describe(
    account: Account,
    name: string,
    tokens: readonly string[],
    gone: AbortLike,
  ): Promise<Readonly<{ shown: ShownMap; map: InstantiatedMap }>> {
    const shown = await this.show(account, name, tokens, gone)
    return { shown, map: await this.instantiate(shown.template, { values: {}, isAggregated: true }, gone) }
  }

  /** Null if they are not known: its tiles tell what is wrong. */
  async #boundsOf(template: OpenTemplate, gone: AbortLike): Promise<Bounds | null> {
    const { revision } = template.stored
    if (this.#failed.has(revision)) return null
    try {
      return await this.#bounds.find(await this.byDefaults(template, gone), gone)
    } catch {
      if (!gone.aborted) this.#failed.set(revision, true)
      return null
    }
  }

  async instantiate(
    { document, principal, stored }: OpenTemplate,
    { values, isAggregated }: FilledIn,
    gone: AbortLike,
  ): Promise<InstantiatedMap> {
    const config = renderTemplate(document, isJsonObject(values) ? values : {})
    const wanted = isAggregated ? config : withoutAggregation(config)
    return this.#parts.maps.instantiate(principal, wanted, gone, stored.revision)
  }

  /** The map that the defaults of its placeholders make. */
  async byDefaults({ principal, stored, defaults }: OpenTemplate, gone: AbortLike): Promise<OpenedMap> {
    const { maps } = this.#parts
    const { revision } = stored
    const { id, templates } = await maps.identify(principal.account, defaults, revision)
    const isUnknown = (error: unknown) => error instanceof AppError && error.code === 'map-unknown'
    try {
      return await maps.open(principal, id, { revision, templates })
    } catch (error) {
      if (!isUnknown(error)) throw error
      const made = await maps.instantiate(principal, defaults, gone, revision)
      return maps.open(principal, made.id, { revision })
    }
  }

  /** A map of a template by its `{user}@{revision}@{id}`. Throws if the template has changed since. */
  async find(
    account: Account,
    token: string,
    tokens: readonly string[],
  ): Promise<Readonly<{ principal: Principal; map: OpenedMap }>> {
    const [user, revision = '', id = ''] = token.split('@')
    if (user !== account.username) throw errors.templateForbidden()
    const { epoch } = this.#parts.directory
    const head = await findTemplateByRevision(this.#control, account, revision)
    if (!head) throw errors.mapUnknown(token.slice(0, 200))
    const { principal } = this.#admit(account, head, tokens, epoch)
    return { principal, map: await this.#parts.maps.open(principal, id, { revision: head.revision }) }
  }

  /** Throws unless one of the tokens opens it. */
  #admit(account: Account, head: TemplateHead, tokens: readonly string[], epoch: number): Admitted {
    const valid = this.#tokensOf(head)
    const token = valid ? matchingToken(valid, tokens) : undefined
    if (valid && token === undefined) throw errors.templateForbidden()
    if (!head.key.apis.includes('maps')) throw errors.apiForbidden('Forbidden')
    return { principal: this.#parts.directory.guest({ account, key: head.key }, epoch), token }
  }

  async #checked(account: Account, raw: unknown): Promise<Template> {
    await letOthersIn()
    const template = readTemplate(raw)
    const { document } = template
    if (document.view === undefined || document.view === null) return template
    // A template that only says where to look need not make a map by its defaults.
    const needsLayers = isJsonObject(document.view) && (document.view.style ?? document.view.popup)
    const layergroup = renderTemplate(document, {})
    requireOwnIds(layergroup)
    const layerIds = needsLayers
      ? tiledIds((await this.#parts.maps.readConfig(account, layergroup)).config)
      : []
    const view = readView(document.view, layerIds)
    requireBasemap(view, this.#parts.config.mapBasemaps)
    if (view.style) await this.#styles.check(account, withSourceLayers(view.style), layerIds)
    return template
  }

  async #readShown({ document, defaults, principal }: OpenTemplate): Promise<ReadTemplate> {
    const { config, characters } = await this.#parts.maps.readConfig(principal.account, defaults)
    return { shown: { config, view: readView(document.view, tiledIds(config)) }, characters }
  }

  #readText(stored: StoredTemplate): TemplateText {
    const document = this.#documentOf(stored)
    const defaults = renderTemplate(document, {})
    // A short template with long defaults, each used often, makes a long config.
    const characters = stored.template.length + JSON.stringify([defaults]).length
    const text = { document, defaults, characters }
    this.#texts.set(stored.revision, text, { size: characters + 1_000 })
    return text
  }

  #documentOf({ template }: StoredTemplate): JsonObject {
    return openLayerTokens(JSON.parse(template) as JsonObject, this.#parts.secrets)
  }

  #stored({ name, document, validTokens }: Template): NewTemplate {
    const { secrets } = this.#parts
    const sealedTokens = validTokens && secrets.seal(JSON.stringify(validTokens))
    return {
      name,
      template: JSON.stringify(sealLayerTokens(document, secrets)),
      sealedTokens,
      revision: randomBytes(16).toString('hex'),
    }
  }

  #tokensOf({ sealedTokens }: TemplateHead): readonly string[] | null {
    return sealedTokens && (JSON.parse(this.#parts.secrets.open(sealedTokens)) as string[])
  }

  get #control() {
    return this.#parts.databases.control
  }
}

/** `characters`: of its config with the layers of the named maps in it. */
type ReadTemplate = Readonly<{ shown: Pick<ShownMap, 'config' | 'view'>; characters: number }>

/** Characters of all cached templates together: a parsed template takes many times as much memory. */
const knownCharacters = 4 * 1024 ** 2
const failedMs = 1_000

const tiledIds = ({ layers }: CheckedMapConfig) => layers.filter(({ source }) => source).map(({ id }) => id)

/** A key manages its own templates, the master key all. */
const ownOnly = ({ key }: Principal) => (key.type === 'master' ? undefined : key.id)

const notFound = ({ username }: Account, name: string) =>
  errors.notFound(`Template '${name.slice(0, 255)}' of user '${username}'`)
