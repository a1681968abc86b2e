import type { Result } from '../result.ts'
import type { ResultRow } from '../worker/protocol.ts'

const blockRows = 200
const keptBlocks = 40

/** A cache of the rows that a grid has shown, in blocks. */
export class GridRows {
  readonly #result: Result
  readonly #changed: () => void
  readonly #blocks = new Map<number, readonly ResultRow[]>()
  /** Shown until they have been read again. */
  readonly #outdated = new Map<number, readonly ResultRow[]>()
  readonly #asked = new Set<number>()

  /** `head`: the first rows, if known. */
  constructor(result: Result, head: readonly ResultRow[], changed: () => void) {
    this.#result = result
    this.#changed = changed
    this.#blocks.set(0, head)
  }

  /** Undefined while the row is being read. `changed` is called when it is there. */
  get(row: number): ResultRow | undefined {
    const block = Math.floor(row / blockRows)
    const found = this.#blocks.get(block)?.[row % blockRows]
    if (!found) this.#fetch(block)
    return found ?? this.#outdated.get(block)?.[row % blockRows]
  }

  /** Call it after the order changed, or when a block may have more rows. */
  forget(): void {
    this.#outdated.clear()
    this.#blocks.clear()
    this.#asked.clear()
  }

  /** Call it when the rows are the same, but their look changed. */
  renew(): void {
    const known = [...this.#blocks]
    this.forget()
    for (const [block, rows] of known) this.#outdated.set(block, rows)
  }

  async #fetch(block: number): Promise<void> {
    if (this.#asked.has(block)) return
    this.#asked.add(block)
    const rows = await this.#result.ask('rows', { from: block * blockRows, count: blockRows })
    if (!this.#asked.delete(block)) return
    this.#outdated.delete(block)
    this.#blocks.delete(block)
    this.#blocks.set(block, rows)
    for (const old of this.#blocks.keys()) {
      if (this.#blocks.size <= keptBlocks) break
      this.#blocks.delete(old)
    }
    this.#changed()
  }
}
