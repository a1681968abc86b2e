import { Message, RecordBatchReader } from 'apache-arrow'

/**
 * Reads an Arrow stream without taking its batches apart: the schema, then each batch as a stream of its own, with the
 * schema before it. The writer of Parquet reads that in its own memory.
 */
export async function readArrowParts(stream) {
  const bytes = new ByteTaker(stream)
  const { head } = await readHead(bytes)
  const { schema } = RecordBatchReader.from(head).open()
  return { schema, schemaBytes: head, parts: readParts(bytes, head) }
}

async function* readParts(bytes, schemaBytes) {
  for (;;) {
    const next = await readHead(bytes)
    if (next === undefined) return
    const { head, message } = next
    const rest = Number(message.bodyLength)
    const part = Buffer.allocUnsafeSlow(schemaBytes.length + head.length + rest)
    part.set(schemaBytes)
    part.set(head, schemaBytes.length)
    await bytes.fill(part, schemaBytes.length + head.length)
    yield {
      bytes: part,
      rows: Number(message.header().length),
      batch: () => RecordBatchReader.from(part).next().value,
    }
  }
}

/** A mark and a length, then as many bytes that describe what follows; no length: the end. */
async function readHead(bytes) {
  const start = Buffer.alloc(8)
  await bytes.fill(start, 0)
  const length = start.readInt32LE(4)
  if (length === 0) return undefined
  const head = Buffer.allocUnsafeSlow(8 + length)
  head.set(start)
  await bytes.fill(head, 8)
  return { head, message: Message.decode(head.subarray(8)) }
}

/** Takes bytes from a stream in the pieces that are wanted. */
class ByteTaker {
  #chunks
  #chunk = Buffer.alloc(0)

  constructor(stream) {
    this.#chunks = stream[Symbol.asyncIterator]()
  }

  /** Fills the target from `start` on. */
  async fill(target, start) {
    let at = start
    while (at < target.length) {
      if (this.#chunk.length === 0) await this.#next()
      const taken = this.#chunk.subarray(0, target.length - at)
      target.set(taken, at)
      this.#chunk = this.#chunk.subarray(taken.length)
      at += taken.length
    }
  }

  async #next() {
    const { done, value } = await this.#chunks.next()
    if (done) throw new Error('the rows end in the middle')
    this.#chunk = value
  }
}
