import { type LineNumbering, numbered } from '../../copy/load/load-in-parts.ts'
import { type Part, PartReader, recordsOf } from '../../copy/load/part-reader.ts'
import { mostTextBytes, shortTextBytes, tooMuchText } from '../../copy/load/rejected-rows.ts'
import type { CopyDialect } from '../../sql/copy-load.ts'
import { ImportFailure } from '../import-failure.ts'

/** Reads rows once more that end in these lines, as they stand in the data: the whole text, or as much as is listed. */
export async function readLines(
  chunks: AsyncIterable<Uint8Array>,
  dialect: CopyDialect,
  lines: ReadonlySet<number>,
  keepsAll: boolean,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, Buffer>> {
  const found = new Map<number, Buffer>()
  let bytes = 0
  for await (const { part, header } of partsOf(chunks, dialect)) {
    signal.throwIfAborted()
    for (const { start, end, line } of part.isOpen ? [] : recordsOf(part, header, dialect)) {
      if (!lines.has(line)) continue
      const last = keepsAll ? end : Math.min(end, start + shortTextBytes)
      bytes += last - start
      if (keepsAll && bytes > mostTextBytes) throw new ImportFailure(2003, tooMuchText)
      found.set(line, Buffer.from(part.bytes.subarray(start, last)))
    }
    if (found.size === lines.size) break
  }
  return found
}

/** The rows with their lines before them. */
export async function* numberRows(
  chunks: AsyncIterable<Uint8Array>,
  dialect: CopyDialect,
  numbering: LineNumbering,
): AsyncGenerator<Uint8Array> {
  for await (const { part, header } of partsOf(chunks, dialect))
    yield numbered(part, recordsOf(part, header, dialect), numbering)
}

async function* partsOf(
  chunks: AsyncIterable<Uint8Array>,
  dialect: CopyDialect,
): AsyncGenerator<Readonly<{ part: Part; header: Buffer }>> {
  const reader = new PartReader(dialect, partBytes)
  function* parts() {
    for (let part = reader.take(); part; part = reader.take()) {
      yield { part, header: reader.header! }
      reader.giveBack(part)
    }
  }
  for await (const chunk of chunks) {
    reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    yield* parts()
  }
  reader.end()
  yield* parts()
}

const partBytes = 1024 * 1024
