import { LRUCache } from 'lru-cache'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { around, type Bounds, boundsOf } from '../../tiles/describe-layers.ts'
import { Flights } from '../../tiles/shared-work.ts'
import type { Tiles } from '../../tiles/tiles.ts'
import { wholeWorld } from '../layer-sql.ts'
import type { Maps, OpenedMap } from '../maps.ts'

/** `version`: that the rows had before they were read. */
type KnownBounds = Readonly<{ version: string | null; bounds: Bounds | null }>

/** The boxes around the rows of maps. One for each process. */
export class MapBounds {
  readonly #maps: Maps
  readonly #tiles: Tiles
  /** By map. */
  readonly #known = new LRUCache<string, KnownBounds>({ max: 1_000 })
  readonly #flights = new Flights<Bounds | null>()

  constructor(maps: Maps, tiles: Tiles) {
    this.#maps = maps
    this.#tiles = tiles
  }

  /**
   * Null if the box is not known. As with tiles, a stored box is told only if the readers of the map may still read the same
   * rows. If changes cannot be detected, a box is read each time, once for all who ask meanwhile; that there is none, or
   * that it takes too long, is remembered for some seconds.
   */
  async find(map: OpenedMap, gone: AbortLike): Promise<Bounds | null> {
    const version = await this.#maps.versionOf(map, gone)
    const known = this.#known.get(map.id)
    if (known && known.version === version) return known.bounds
    const bounds = await this.#flights.join(map.id, version, gone, (allGone, onBegin) => {
      onBegin()
      return this.#read(map, allGone)
    })
    // A query that was too slow may be fast enough later.
    if (!bounds) this.#known.set(map.id, { version, bounds }, { ttl: unknownMs })
    else if (version !== null) this.#known.set(map.id, { version, bounds })
    return bounds
  }

  async #read(map: OpenedMap, gone: AbortLike): Promise<Bounds | null> {
    const boxes: (Bounds | null)[] = []
    const planned = await this.#maps.plan(map, gone)
    for (const { layer, plan, estimatedRows } of planned.slice(0, mostLookedAt)) {
      if (!plan) continue
      const rows = { ...plan.rows(wholeWorld), estimatedRows }
      boxes.push(await this.#tiles.run(map.readerOf(layer), gone, (session) => boundsOf(session, rows)))
    }
    return around(boxes)
  }
}

/** Each may take two seconds. */
const mostLookedAt = 5
const unknownMs = 5_000
