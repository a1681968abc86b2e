import { LRUCache } from 'lru-cache'

export type StoredTile = Readonly<{
  /** The version of its layers in the snapshot of its query. */
  version: string
  bytes: Buffer
  truncated: readonly Readonly<{ name: string; kept: number }>[]
}>

/** Tiles by what was asked for, each with the version that it shows: it may be served only if the layers still have this version. */
export class TileCache {
  readonly #tiles: LRUCache<string, StoredTile> | null

  constructor(maxBytes: number) {
    this.#tiles =
      maxBytes === 0
        ? null
        : new LRUCache({
            maxSize: maxBytes,
            sizeCalculation: ({ bytes }, key) => bytes.length + 2 * key.length + 200,
          })
  }

  get(key: string, version: string): StoredTile | undefined {
    const tile = this.#tiles?.get(key)
    return tile?.version === version ? tile : undefined
  }

  set(key: string, tile: StoredTile): void {
    this.#tiles?.set(key, tile)
  }
}
