import { addProtocol, removeProtocol } from 'maplibre-gl'
import { readRows } from '../api/sql.ts'
import { type Tile, type TileSource, tileSql } from '../geo/tile-sql.ts'

/** Which of the tiles that were read had more rows than are drawn one by one: by `z/x/y`. */
export type TilesRead = ReadonlyMap<string, boolean>

/** A browser has six connections to the service: Run always finds one free. */
const mostAtOnce = 3

let lastNumber = 0

/**
 * Gives MapLibre the tiles of a table, by SQL as the key that is signed in. A tile that leaves the view is aborted, and
 * the service ends its statement.
 */
export class TableTiles {
  readonly #scheme = `table-${++lastNumber}`
  readonly #turns = new Turns(mostAtOnce)
  readonly #source: TileSource
  readonly #read = new Map<string, boolean>()
  readonly #failed: (error: unknown) => void

  constructor(source: TileSource, failed: (error: unknown) => void) {
    this.#source = source
    this.#failed = failed
    addProtocol(this.#scheme, async ({ url }, { signal }) => ({ data: await this.#load(url, signal) }))
  }

  get read(): TilesRead {
    return this.#read
  }

  address(percent: number): string {
    return `${this.#scheme}://${percent}/{z}/{x}/{y}`
  }

  close(): void {
    removeProtocol(this.#scheme)
  }

  async #load(url: string, signal: AbortSignal): Promise<ArrayBuffer> {
    const [percent, z, x, y] = url.split('/').slice(2).map(Number) as [number, number, number, number]
    return this.#turns.take(signal, async () => {
      const answer = await this.#ask({ ...this.#source, percent }, { z, x, y }, signal)
      this.#read.set(`${z}/${x}/${y}`, answer.isMany)
      return Uint8Array.from(atob(answer.tile), (character) => character.charCodeAt(0)).buffer
    })
  }

  async #ask(source: TileSource, tile: Tile, signal: AbortSignal): Promise<TileAnswer> {
    try {
      const [answer] = await readRows<TileAnswer>(tileSql(source, tile), { signal })
      return answer!
    } catch (error) {
      if (!signal.aborted) this.#failed(error)
      throw error
    }
  }
}

type TileAnswer = Readonly<{ isMany: boolean; tile: string }>

/** So many at once; who has left does not wait. */
class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  async take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      signal.throwIfAborted()
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}
