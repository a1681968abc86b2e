import { messages } from './wire-messages.ts'

export type OnMessage = (type: number, buffer: Buffer, start: number, end: number) => void

/**
 * Splits a byte stream into protocol messages. A message that spans reads is collected once, in a buffer of its size.
 * Of an error, a notice or a row that is too long, only the beginning is kept; it is delivered when the rest has been
 * skipped, a row as `cutRow`.
 */
export class MessageReader {
  readonly #longestRow: number
  #isHeld = false
  #partial: Buffer | null = null
  #filled = 0
  /** Bytes to skip after the collected part of the message. */
  #toSkip = 0
  /** Bytes still to come of a CopyData message whose beginning was delivered. */
  #copyDataLeft = 0

  constructor(longestRow: number) {
    this.#longestRow = longestRow
  }

  /** Call during a collected message: no further message is delivered before `goOn`. */
  hold(): void {
    this.#isHeld = true
  }

  goOn(): void {
    this.#isHeld = false
  }

  /** Delivers every message that `chunk` completes. Returns how many bytes were read: all, unless held. */
  read(chunk: Buffer, onMessage: OnMessage): number {
    let offset = this.#partial ? this.#continue(chunk, onMessage) : 0
    if (this.#isHeld) return offset
    while (chunk.length - offset >= headerLength) {
      const end = offset + 1 + chunk.readInt32BE(offset + 1)
      if (end > chunk.length) break
      onMessage(chunk[offset]!, chunk, offset + headerLength, end)
      offset = end
    }
    if (offset < chunk.length) this.#begin(chunk, offset)
    return chunk.length
  }

  /**
   * The same for COPY ... TO STDOUT: moves the CopyData payloads in `chunk` to its front, without gaps and without
   * waiting for whole messages. Returns their length. All other messages are delivered.
   */
  compact(chunk: Buffer, onMessage: OnMessage): number {
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length)
    let offset = this.#partial ? this.#continueHeader(chunk, onMessage) : 0
    let left = this.#copyDataLeft
    let filled = 0
    for (;;) {
      if (left > 0) {
        const end = Math.min(offset + left, chunk.length)
        moveDown(chunk, view, filled, offset, end)
        filled += end - offset
        left -= end - offset
        offset = end
      }
      if (chunk.length - offset < headerLength) break
      const end = offset + 1 + view.getInt32(offset + 1)
      const type = chunk[offset]!
      if (type === copyData) {
        offset += headerLength
        left = end - offset
        continue
      }
      if (end > chunk.length) break
      onMessage(type, chunk, offset + headerLength, end)
      offset = end
    }
    this.#copyDataLeft = left
    if (offset < chunk.length) this.#begin(chunk, offset)
    return filled
  }

  /** The message at this offset does not end in this chunk. */
  #begin(chunk: Buffer, offset: number): void {
    const available = chunk.length - offset
    const total = available >= headerLength ? 1 + chunk.readInt32BE(offset + 1) : headerLength
    this.#partial = Buffer.allocUnsafe(Math.min(total, this.#longest(chunk[offset]!)))
    this.#filled = chunk.copy(this.#partial, 0, offset)
    this.#toSkip = total - this.#partial.length - (available - this.#filled)
  }

  /** Continues the collected message with this chunk. Returns how many bytes it took. */
  #continue(chunk: Buffer, onMessage: OnMessage): number {
    let offset = 0
    while (this.#partial) {
      offset += this.#gather(chunk, offset)
      if (this.#filled < this.#partial.length) return offset
      if (this.#partial.length === headerLength && this.#grow()) continue
      const skipped = Math.min(this.#toSkip, chunk.length - offset)
      offset += skipped
      this.#toSkip -= skipped
      if (this.#toSkip > 0) return offset
      const message = this.#partial
      this.#partial = null
      onMessage(typeOf(message), message, headerLength, message.length)
    }
    return offset
  }

  /** How much of a message of this type is kept. Other types are always short. */
  #longest(type: number): number {
    if (type === dataRow) return this.#longestRow
    return isCutShort.has(type) ? shortBeginning : Number.POSITIVE_INFINITY
  }

  /** When only the header has been collected: allocates room for the rest. False if there is none. */
  #grow(): boolean {
    const header = this.#partial!
    const total = 1 + header.readInt32BE(1)
    if (total === headerLength) return false
    this.#partial = Buffer.allocUnsafe(Math.min(total, this.#longest(header[0]!)))
    this.#toSkip = total - this.#partial.length
    header.copy(this.#partial)
    return true
  }

  /** Like `#continue`, but collects only the header of a CopyData message. */
  #continueHeader(chunk: Buffer, onMessage: OnMessage): number {
    const partial = this.#partial!
    if (partial.length > headerLength) return this.#continue(chunk, onMessage)
    const offset = this.#gather(chunk, 0)
    if (this.#filled < headerLength) return offset
    if (partial[0] !== copyData) return offset + this.#continue(chunk.subarray(offset), onMessage)
    this.#partial = null
    this.#copyDataLeft = partial.readInt32BE(1) + 1 - headerLength
    return offset
  }

  #gather(chunk: Buffer, offset: number): number {
    const taken = chunk.copy(this.#partial!, this.#filled, offset)
    this.#filled += taken
    return taken
  }
}

/**
 * Rows are short and many: moving four bytes at a time is twice as fast as copyWithin. The last move may write up to
 * three bytes too many. These have already been read, as the target is at least that far before the source.
 */
function moveDown(chunk: Buffer, view: DataView, target: number, start: number, end: number): void {
  if (target === start) return
  if (end - start >= shortBytes || start - target < 3 || end + 3 > chunk.length) {
    chunk.copyWithin(target, start, end)
    return
  }
  for (let source = start; source < end; source += 4, target += 4) {
    view.setInt32(target, view.getInt32(source, true), true)
  }
}

function typeOf(message: Buffer): number {
  const isCut = 1 + message.readInt32BE(1) > message.length
  return isCut && message[0] === dataRow ? cutRow : message[0]!
}

const { dataRow, copyData, cutRow, error, notice } = messages
/** Errors and notices are texts for people; unexpected COPY data is ignored. */
const isCutShort: ReadonlySet<number> = new Set([error, notice, copyData])
const shortBeginning = 64 * 1024
const headerLength = 5
const shortBytes = 64
