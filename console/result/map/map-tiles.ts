import { addProtocol, removeProtocol } from 'maplibre-gl'
import type { ReadTile, TileSource } from './tile-source.ts'

export type TileRead = Omit<ReadTile, 'bytes'>

/** A browser has six connections to the service. Some must stay free for other requests. */
const mostAtOnce = 3

let lastNumber = 0

/**
 * Provides MapLibre with tiles of the service, read with the key of the session. A tile that leaves the view is
 * aborted, and the service cancels its statement.
 */
export class MapTiles {
  readonly #scheme = `tiles-${++lastNumber}`
  readonly #turns = new Turns(mostAtOnce)
  readonly #source: TileSource
  readonly #read = new Map<string, TileRead>()
  readonly #loading = new Map<string, SharedLoad>()
  readonly #failed: (error: unknown) => void

  constructor(source: TileSource, failed: (error: unknown) => void) {
    this.#source = source
    this.#failed = failed
    addProtocol(this.#scheme, async ({ url }, { signal }) => ({ data: await this.#share(url, signal) }))
  }

  get address(): string {
    return `${this.#scheme}://{z}/{x}/{y}`
  }

  /** The tiles of a zoom level that were read so far. */
  readAt(zoom: number): readonly TileRead[] {
    return [...this.#read].filter(([tile]) => tile.startsWith(`${zoom}/`)).map(([, read]) => read)
  }

  close(): void {
    removeProtocol(this.#scheme)
  }

  /** Zoomed out, the map shows the world more than once, and MapLibre requests the same tile each time. */
  async #share(url: string, signal: AbortSignal): Promise<ArrayBuffer> {
    const known = this.#loading.get(url)
    const load = known?.isWanted ? known : new SharedLoad((stopped) => this.#load(url, stopped))
    this.#loading.set(url, load)
    try {
      const tile = await load.join(signal)
      return tile.slice(0)
    } finally {
      if (this.#loading.get(url) === load) this.#loading.delete(url)
    }
  }

  async #load(url: string, signal: AbortSignal): Promise<ArrayBuffer> {
    const [z, x, y] = url.split('/').slice(2).map(Number) as [number, number, number]
    return this.#turns.take(signal, async () => {
      try {
        const { bytes, ...read } = await this.#source.read({ z, x, y }, signal)
        this.#read.set(`${z}/${x}/${y}`, read)
        return bytes
      } catch (error) {
        if (!signal.aborted) this.#failed(error)
        throw error
      }
    })
  }
}

/** One request shared by several callers. Aborted when all of them have aborted. */
class SharedLoad {
  readonly #stopped = new AbortController()
  readonly #result: Promise<ArrayBuffer>
  #wanted = 0

  constructor(load: (signal: AbortSignal) => Promise<ArrayBuffer>) {
    this.#result = load(this.#stopped.signal)
  }

  get isWanted(): boolean {
    return this.#wanted > 0
  }

  join(signal: AbortSignal): Promise<ArrayBuffer> {
    this.#wanted++
    signal.addEventListener('abort', () => {
      if (--this.#wanted === 0) this.#stopped.abort(signal.reason)
    })
    return this.#result
  }
}

/** Runs at most `count` tasks at once. An aborted task is skipped. */
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
