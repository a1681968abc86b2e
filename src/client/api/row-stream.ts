import type { SqlAnswer } from '../../contract/documents.ts'
import { joinBytes } from '../../contract/text/join-bytes.ts'
import { RowScanner } from '../../contract/text/json-rows.ts'
import { cutAnswer } from '../cartage-error.ts'
import { parseExact } from '../exact-json.ts'

/** What the service says after the rows. */
export type SqlSummary = Omit<SqlAnswer, 'rows'>

/**
 * The rows of a statement while they arrive; only the rows being read are in memory. The statement is sent when the
 * first row is asked for, and stopped when the caller leaves the loop. Can be read once.
 */
export class RowStream<Row = Record<string, unknown>> implements AsyncIterable<Row> {
  /** Once the last row has been read. */
  summary: SqlSummary | undefined
  readonly #open: () => Promise<AsyncIterable<Uint8Array>>
  readonly #parse: (text: string) => unknown

  constructor(open: () => Promise<AsyncIterable<Uint8Array>>, parse: (text: string) => unknown) {
    this.#open = open
    this.#parse = parse
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row> {
    for await (const texts of this.texts()) {
      for (const text of texts) yield this.#parse(text) as Row
    }
  }

  /** The same as JSON, to the digit as the service wrote it, many rows at a time. */
  async *texts(): AsyncGenerator<readonly string[]> {
    const cutter = new RowCutter()
    for await (const chunk of await this.#open()) {
      const texts = cutter.add(chunk)
      if (texts.length > 0) yield texts
    }
    this.summary = cutter.summary()
  }

  /** All rows and what follows them, in one document. */
  async whole(): Promise<SqlAnswer<Row>> {
    const rows: Row[] = []
    for await (const texts of this.texts()) for (const text of texts) rows.push(this.#parse(text) as Row)
    return { rows, ...this.summary! }
  }
}

/** Cuts the bytes of an answer into rows. Keeps what belongs to a row that has not ended. */
class RowCutter {
  readonly #scanner = new RowScanner()
  readonly #decoder = new TextDecoder()
  /** The bytes of the answer from `#keptFrom` on. */
  #kept: Uint8Array[] = []
  #keptFrom = 0

  add(chunk: Uint8Array): readonly string[] {
    const scanner = this.#scanner
    this.#kept.push(chunk)
    scanner.feed(chunk)
    if (scanner.count === 0) return []
    const bytes = joinBytes(this.#kept)
    const texts = Array.from({ length: scanner.count }, (_, row) =>
      this.#decoder.decode(
        bytes.subarray(scanner.start(row) - this.#keptFrom, scanner.end(row) - this.#keptFrom),
      ),
    )
    const end = scanner.end(scanner.count - 1)
    // Copied, so that it holds no whole chunk.
    this.#kept = [bytes.slice(end - this.#keptFrom)]
    this.#keptFrom = end
    scanner.count = 0
    return texts
  }

  summary(): SqlSummary {
    const { tailStart } = this.#scanner
    if (tailStart === undefined) throw cutAnswer()
    const tail = this.#decoder.decode(joinBytes(this.#kept).subarray(tailStart - this.#keptFrom))
    const { rows: _, ...summary } = parseExact(`{"rows":[]${tail}`) as SqlAnswer
    return summary
  }
}
