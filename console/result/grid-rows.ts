import type { Row } from './protocol.ts'
import type { Result } from './result.ts'

const blockRows = 200
const keptBlocks = 40

/** The rows that a grid has seen lately, by blocks. */
export class GridRows {
  readonly #result: Result
  readonly #changed: () => void
  readonly #blocks = new Map<number, readonly Row[]>()
  readonly #asked = new Set<number>()

  /** `head`: the first rows, where they are known. */
  constructor(result: Result, head: readonly Row[], changed: () => void) {
    this.#result = result
    this.#changed = changed
    this.#blocks.set(0, head)
  }

  /** Undefined while it is on its way: then `changed` is called later. */
  get(row: number): Row | undefined {
    const block = Math.floor(row / blockRows)
    const found = this.#blocks.get(block)?.[row % blockRows]
    if (!found) this.#fetch(block)
    return found
  }

  /** After a new order, or when more rows may be in a block that was not full. */
  forget(): void {
    this.#blocks.clear()
    this.#asked.clear()
  }

  async #fetch(block: number): Promise<void> {
    if (this.#asked.has(block)) return
    this.#asked.add(block)
    const rows = await this.#result.ask('rows', { from: block * blockRows, count: blockRows })
    if (!this.#asked.delete(block)) return
    this.#blocks.delete(block)
    this.#blocks.set(block, rows)
    for (const old of this.#blocks.keys()) {
      if (this.#blocks.size <= keptBlocks) break
      this.#blocks.delete(old)
    }
    this.#changed()
  }
}
