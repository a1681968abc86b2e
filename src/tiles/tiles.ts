import { LRUCache } from 'lru-cache'
import { type Principal, sessionTargetOf } from '../auth/account.ts'
import type { Config } from '../config/config.ts'
import { variables } from '../config/known-variables.ts'
import type { TilePlace } from '../contract/documents.ts'
import { AppError, errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import { Slots } from '../postgres/pools/slots.ts'
import type { Session } from '../postgres/session.ts'
import { remembered } from '../remembered.ts'
import type { ReplicaReader } from '../statements/replica-reader.ts'
import { runAs, type SlotsToWaitFor, type StatementOptions } from '../statements/run-as.ts'
import { type TimeLimit, wholeTimeout } from '../statements/time-limits.ts'
import { type Aged, aged, told } from './aged-work.ts'
import { Encodings, type TileEncoding } from './encodings.ts'
import { findLayers } from './find-layers.ts'
import { inLayer, tableLayer } from './in-layer.ts'
import {
  type DrawnTile,
  findFailedLayer,
  isOvertaken,
  type LayerRequest,
  renderTile,
  tileError,
} from './render-tile.ts'
import { Flights } from './shared-work.ts'
import { TileBoxes } from './tile-boxes.ts'
import { TileCache } from './tile-cache.ts'
import { hashOf, type Layer, lookUpLayer, type TableName } from './tile-layer.ts'

export type LayersRequest = Readonly<{
  /** The name that the client gave: `name` or `schema.name`, or several with commas. */
  table: string
  columns?: readonly string[] | undefined
}>

export type TileRequest = LayersRequest & Readonly<{ place: TilePlace; maxFeatures: number }>

export type Tile = Readonly<{
  /** What the tile shows is the same as long as this is. */
  tag: string
  /** Null: the client has this tile already. */
  bytes: Buffer | null
  /** How they are compressed. */
  encoding?: string | null
  truncated: DrawnTile['truncated']
}>

/** `version`: of its layers in the snapshot of the tile; null: changes cannot be detected. */
export type MadeTile = DrawnTile & Readonly<{ version: string | null }>

/** A tile that can be made. */
export type TileSource = Readonly<{
  /** The same for the same question. Whose role asks need not be in it. */
  key: string
  place: TilePlace
  /** The version of its layers in the look-up before. */
  version: string | null
  /** Makes it in one snapshot, of at most so many bytes. May leave its transaction open: the session is cleaned after use. */
  make: (session: Session, leftBytes: number) => Promise<MadeTile>
}>

/** A part of a tile, and whose role reads it. */
export type TilePart = Readonly<{ principal: Principal; source: TileSource }>

/** What other parts of the same tile have left. `deadline`: as `performance.now()`. */
type Rest = Readonly<{ bytes: number; deadline: number }>

type TileRunOptions = Readonly<{
  onBegin?: () => void
  /** When several runs together must end, as `performance.now()`. */
  deadline?: number | undefined
  reader?: ReplicaReader | undefined
}>

/** What the client knows of the tile, and how it wants the answer. */
export type TileClient = Readonly<{
  gone: AbortLike
  hasTag: (tag: string) => boolean
  /** How to compress it; null: not at all. */
  encoding: TileEncoding | null
  /** If it wants to read from a replica. */
  reader?: ReplicaReader | undefined
}>

/** Vector tiles of tables, each made as the role of the key that asks. One for each process. */
export class Tiles {
  readonly #config: Config
  readonly #databases: Databases
  readonly #cache: TileCache
  readonly #slots = new Map<number, Slots>()
  readonly #flights = new Flights<Aged<MadeTile>>()
  readonly #lookUps = new Flights<Aged<unknown>>()
  /** As last found, by role and table. */
  readonly #layers = new LRUCache<string, Layer>({ max: 2_000 })
  readonly #encodings = new Encodings()
  readonly #boxes = new TileBoxes()

  constructor(config: Config, databases: Databases) {
    this.#config = config
    this.#databases = databases
    this.#cache = new TileCache(config.tileCacheBytes)
  }

  /** Looks up the layers, then answers from the cache if they have not changed, else makes the tile. */
  async tile(principal: Principal, request: TileRequest, client: TileClient): Promise<Tile> {
    const layers = await this.lookUp(principal, request, client)
    const requests = requestsOf(layers, request)
    const source: TileSource = {
      key: keyOf(requests, request),
      place: request.place,
      version: versionOf(layers),
      make: (session) => this.#render(session, principal, request, requests),
    }
    return this.make(principal, source, client)
  }

  /** Answers from the cache if the version is still the same, else makes the tile once for all who ask for it now. */
  async make(principal: Principal, source: TileSource, client: TileClient): Promise<Tile> {
    const key = keyOfPart({ principal, source })
    const { version } = source
    const known = version === null ? undefined : await this.#known(key, version, client)
    if (known) return known
    if (isOutside(source.place)) return emptyTile(key)
    const made = await this.#share({ principal, source }, client)
    return this.#finish(key, made, client)
  }

  /**
   * One tile of several parts, whose layers have different names. They are made one after the other, and have the bytes and the
   * time of one tile.
   */
  async join(parts: readonly TilePart[], deadline: number, client: TileClient): Promise<Tile> {
    const key = `joined ${hashOf(parts.map(keyOfPart))}`
    const version = versionOfParts(parts.map(({ source }) => source))
    const tag = hashOf([key, version])
    if (version !== null && client.hasTag(tag)) return { tag, bytes: null, truncated: [] }
    if (parts.some(({ source }) => isOutside(source.place))) return emptyTile(key)
    const made = await this.#makeParts(parts, deadline, client.gone)
    const joined: MadeTile = {
      bytes: Buffer.concat(made.map(({ bytes }) => bytes)),
      truncated: made.flatMap(({ truncated }) => truncated),
      version: versionOfParts(made),
    }
    return this.#answer(key, joined, client)
  }

  async #makeParts(
    parts: readonly TilePart[],
    deadline: number,
    gone: AbortLike,
  ): Promise<readonly MadeTile[]> {
    const { tileMaxBytes } = this.#config
    const made: MadeTile[] = []
    let left = tileMaxBytes
    for (const part of parts) {
      const key = keyOfPart(part)
      const { version } = part.source
      const known = version === null ? undefined : this.#cache.get(`${key} `, version)
      const tile = known ?? (await this.#share(part, { gone }, { bytes: left, deadline }))
      if (!known) this.#keep(key, tile)
      left -= tile.bytes.length
      if (left < 0) throw errors.tileTooLarge(tileMaxBytes)
      made.push(tile)
    }
    return made
  }

  /** When a tile that is begun now must be made. */
  deadline(): number {
    return performance.now() + this.#config.tileTimeoutMs
  }

  /** The layers of a request, in its order. Throws unless the role may read all of them. `isWhole`: with comments. */
  async lookUp(
    principal: Principal,
    { table }: LayersRequest,
    { gone, reader }: Pick<TileClient, 'gone' | 'reader'>,
    isWhole = false,
  ): Promise<readonly Layer[]> {
    const find = (session: Session) =>
      findLayers(principal.account.schema, table, (name) => this.#look(session, name, isWhole))
    return this.look(principal, `${isWhole} ${table}`, gone, find, reader)
  }

  /**
   * Runs a look-up of the service, which runs no code of a tenant and needs no turn. Callers who ask the same
   * `question` with the same key before it begins share it: a map asks for a screenful of tiles at once.
   */
  look<T>(
    principal: Principal,
    question: string,
    gone: AbortLike,
    work: (session: Session) => Promise<T>,
    reader?: ReplicaReader,
  ): Promise<T> {
    const name = `${principal.account.userId} ${tokenOf(principal)} ${placeOf(reader)} ${question}`
    const looked = this.#lookUps.join(name, null, gone, (allGone, onBegin) =>
      aged(reader, (shared) =>
        this.#lookNow(principal, { ...this.#options(allGone), reader: shared }, (session) => {
          onBegin()
          return work(session)
        }),
      ),
    )
    return told(reader, looked as Promise<Aged<T>>)
  }

  async #lookNow<T>(
    principal: Principal,
    options: StatementOptions,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    try {
      return await runAs(this.#databases, principal, options, (run) => run.watch(work))
    } catch (error) {
      if (error instanceof AppError && error.code === 'connections-exhausted')
        throw this.#busy(undefined, error.extras.accountLimit !== undefined)
      throw tileError(error, options.limits.whole)
    }
  }

  async #look(session: Session, table: TableName, isWhole: boolean): Promise<Layer> {
    const { hostId, database, role } = session.target
    const key = JSON.stringify([hostId, database, role, table.schema, table.name])
    const layer = await lookUpLayer(session, table, { known: isWhole ? undefined : this.#layers.get(key) })
    this.#layers.set(key, layer)
    return layer
  }

  /** Runs our queries on a layer, which may run code of the tenant, in a turn of this caller. */
  run<T>(
    principal: Principal,
    gone: AbortLike,
    work: (session: Session) => Promise<T>,
    { onBegin = () => undefined, deadline, reader }: TileRunOptions = {},
  ): Promise<T> {
    const options = { ...this.#options(gone), slots: this.#turn(principal, deadline), reader }
    return runAs(this.#databases, principal, options, (run) => {
      onBegin()
      if (deadline === undefined) return run.watch(work)
      const late = () => run.stop(wholeTimeout(this.#time()))
      const timer = setTimeout(late, Math.max(0, deadline - performance.now()))
      return run.watch(work).finally(() => clearTimeout(timer))
    }).catch((error: unknown) => {
      throw tileError(error, options.limits.whole)
    })
  }

  async #known(key: string, version: string, client: TileClient): Promise<Tile | undefined> {
    const tag = hashOf([key, version])
    if (client.hasTag(tag)) return { tag, bytes: null, truncated: [] }
    const tile = this.#cache.get(`${key} `, version)
    return tile && this.#encoded(key, tag, tile, client)
  }

  async #finish(key: string, made: MadeTile, client: TileClient): Promise<Tile> {
    this.#keep(key, made)
    return this.#answer(key, made, client)
  }

  #keep(key: string, { version, bytes, truncated }: MadeTile): void {
    if (version !== null) this.#cache.set(`${key} `, { version, bytes, truncated })
  }

  async #answer(key: string, made: MadeTile, client: TileClient): Promise<Tile> {
    const { bytes, truncated, version } = made
    const tag = version === null ? hashOf(bytes) : hashOf([key, version])
    if (client.hasTag(tag)) return { tag, bytes: null, truncated }
    return this.#encoded(key, tag, made, client)
  }

  async #encoded(key: string, tag: string, tile: MadeTile, { encoding }: TileClient): Promise<Tile> {
    const { version, bytes, truncated } = tile
    if (encoding === null || bytes.length < smallBytes) return { tag, bytes, truncated, encoding: null }
    const name = `${key} ${encoding.name}`
    const known = version === null ? undefined : this.#cache.get(name, version)
    if (known) return { tag, bytes: known.bytes, truncated, encoding: encoding.name }
    const encoded = await this.#encodings.run(bytes, encoding)
    if (version !== null) this.#cache.set(name, { version, bytes: encoded, truncated })
    return { tag, bytes: encoded, truncated, encoding: encoding.name }
  }

  /** Makes a tile once for all who ask for it with the same key. `rest`: if it is one of several parts. */
  #share(
    part: TilePart,
    { gone, reader }: Pick<TileClient, 'gone' | 'reader'>,
    rest?: Rest,
  ): Promise<MadeTile> {
    const { principal, source } = part
    const bytes = rest?.bytes ?? this.#config.tileMaxBytes
    // A part may fail by a limit within which a whole tile does not.
    const name = `${keyOfPart(part)} ${tokenOf(principal)} ${placeOf(reader)} ${rest ? `part ${bytes}` : ''}`
    const made = this.#flights.join(name, source.version, gone, (allGone, onBegin) =>
      aged(reader, (shared) =>
        this.run(principal, allGone, (session) => source.make(session, bytes), {
          onBegin,
          deadline: rest?.deadline,
          reader: shared,
        }),
      ),
    )
    return told(reader, made)
  }

  /** Again if the definition of a layer has changed, or its rows were rewritten, between look-up and snapshot. */
  async #render(
    session: Session,
    principal: Principal,
    request: TileRequest,
    first: readonly LayerRequest[],
  ): Promise<MadeTile> {
    const { tileMaxBytes: maxBytes } = this.#config
    const limits = { maxFeatures: request.maxFeatures, maxBytes }
    let requests = first
    for (let attempt = 1; ; attempt += 1) {
      let failure: unknown
      try {
        const boxed = await this.#withBoxes(session, requests, request.place)
        const tile = await renderTile(session, boxed, request.place, limits)
        if (isSteady(requests, tile.layers)) return { ...tile, version: versionOf(tile.layers) }
      } catch (error) {
        if (!isOvertaken(error)) throw await this.#told(error, session, requests, request)
        failure = error
      }
      await session.query('rollback')
      const layers = await findLayers(principal.account.schema, request.table, (table) =>
        lookUpLayer(session, table, { isUsed: true }),
      )
      if (failure !== undefined && isSteady(requests, layers))
        throw await this.#told(failure, session, requests, request)
      if (attempt === mostAttempts) throw failure ?? errors.tilesBusy(1)
      requests = requestsOf(layers, request)
    }
  }

  /** With the layer that it is about. A limit may be that of all layers. */
  async #told(
    thrown: unknown,
    session: Session,
    requests: readonly LayerRequest[],
    { place, maxFeatures }: TileRequest,
  ): Promise<unknown> {
    const error = tileError(thrown, this.#time())
    if (error.code !== 'database') return error
    const limits = { maxFeatures, maxBytes: this.#config.tileMaxBytes }
    const index = await findFailedLayer(session, requests, place, limits)
    return index === undefined ? error : inLayer(error, tableLayer(requests[index]!.name, index))
  }

  async #withBoxes(session: Session, requests: readonly LayerRequest[], place: TilePlace) {
    const boxed: LayerRequest[] = []
    for (const request of requests)
      boxed.push({ ...request, box: await this.#boxes.find(session, place, request.layer.geometry) })
    return boxed
  }

  #options(gone: AbortLike) {
    return { kind: 'tile', limits: { whole: this.#time() }, gone } as const satisfies StatementOptions
  }

  #time(): TimeLimit {
    return { ms: this.#config.tileTimeoutMs, source: variables.tileTimeoutMs.name }
  }

  #turn(principal: Principal, deadline = Number.POSITIVE_INFINITY): SlotsToWaitFor {
    const target = sessionTargetOf(principal)
    const slots = this.#slotsOf(target.hostId)
    if (slots.waiting >= mostWaiting) throw this.#busy()
    const leftMs = deadline - performance.now()
    if (leftMs <= 0) throw wholeTimeout(this.#time())
    const most = principal.account.setLimits.tiles_at_once
    const late = () => this.#busy(slots.reachedLimit({ ...target, ...(most !== undefined && { most }) }))
    return { slots, most, waitMs: Math.min(this.#config.tileWaitMs, leftMs), late }
  }

  #slotsOf(hostId: number): Slots {
    const { tilesPerHost: total, tilesPerAccount: perAccount } = this.#config
    const known =
      this.#slots.get(hostId) ??
      new Slots({ total, perRole: perAccount, perAccount, anonymousPerAccount: perAccount })
    this.#slots.set(hostId, known)
    return known
  }

  #busy(most?: number, isAtOwnLimit = most !== undefined): AppError {
    return errors.tilesBusy(Math.max(1, Math.ceil(this.#config.tileWaitMs / 1000)), most, isAtOwnLimit)
  }
}

/** Callers that may read from a replica do not share work with callers that may not. */
const placeOf = (reader: ReplicaReader | undefined) => (reader ? 'replica' : '')

/** Keys do not share work, even with the same role. Guests of a key see less of an error than its holders. */
const tokenOf = remembered(
  ({ key, isGuest }: Principal) => `${key.tokenHash.toString('base64')}${isGuest ? ' guest' : ''}`,
)

function keyOfPart({ principal, source }: TilePart): string {
  const { hostId, database, role } = sessionTargetOf(principal)
  const { z, x, y } = source.place
  return `${hostId} ${database} ${role} ${z}/${x}/${y} ${source.key}`
}

/** Null if changes of one of them cannot be detected. */
function versionOfParts(parts: readonly Readonly<{ version: string | null }>[]): string | null {
  const versions = parts.map(({ version }) => version)
  return versions.includes(null) ? null : hashOf(versions)
}

const emptyTile = (key: string): Tile => ({
  tag: hashOf([key, 'empty']),
  bytes: Buffer.alloc(0),
  truncated: [],
})

const mostWaiting = 200
const mostAttempts = 4
/** Not worth to be compressed. */
const smallBytes = 1_000

/** The schema distinguishes two tables with the same name. */
export function layerNames(layers: readonly Layer[]): readonly string[] {
  const isTwice = ({ name }: Layer) => layers.filter((other) => other.name === name).length > 1
  return layers.map((layer) => (isTwice(layer) ? `${layer.schema}.${layer.name}` : layer.name))
}

function requestsOf(layers: readonly Layer[], { columns }: LayersRequest): readonly LayerRequest[] {
  const names = layerNames(layers)
  if (new Set(names).size < names.length) throw errors.badRequest('A table is named twice')
  const missing = columns?.find(
    (name) => !layers.some(({ properties }) => properties.some((each) => each.name === name)),
  )
  if (missing !== undefined) throw errors.badRequest(`No column '${missing}' that a tile can show`)
  return layers.map((layer, place) => ({
    layer,
    name: names[place]!,
    properties: columns ? layer.properties.filter(({ name }) => columns.includes(name)) : layer.properties,
  }))
}

const isSteady = (requests: readonly LayerRequest[], layers: readonly Layer[]) =>
  layers.every(
    ({ definition, isMoved }, place) => !isMoved && definition === requests[place]!.layer.definition,
  )

/** Null if changes of one of them cannot be detected. */
export function versionOf(layers: readonly Layer[]): string | null {
  const versions = layers.map(({ version }) => version)
  return versions.includes(null) ? null : versions.join(' ')
}

/** Which properties there are is told by the version of a layer. */
function keyOf(requests: readonly LayerRequest[], { columns, maxFeatures }: TileRequest): string {
  const layers = requests.map(({ layer, properties }) => [
    layer.schema,
    layer.name,
    ...(columns ? [properties.map(({ name }) => name)] : []),
  ])
  return `${maxFeatures} ${JSON.stringify(layers)}`
}

/** There is nothing north or south of the world. */
const isOutside = ({ z, y }: TilePlace) => y >= 2 ** z
