/**
 * Collects output bytes in chunks of one size. Values never become objects or strings: they are copied from the wire's
 * buffer. A full chunk is passed to `onChunk`, which then owns it.
 */
export class ByteWriter {
  // Public, because the hot loops of the value writers use them directly.
  bytes: Buffer = takeChunk()
  at = 0
  readonly #onChunk: (chunk: Buffer) => void

  constructor(onChunk: (chunk: Buffer) => void) {
    this.#onChunk = onChunk
  }

  /** Makes room for `length` bytes, which must be fewer than a chunk has. */
  ensure(length: number): void {
    if (this.at + length <= this.bytes.length) return
    const full = this.bytes.subarray(0, this.at)
    this.bytes = takeChunk()
    this.at = 0
    this.#onChunk(full)
  }

  byte(value: number): void {
    this.ensure(1)
    this.bytes[this.at++] = value
  }

  ascii(text: string): void {
    this.ensure(text.length)
    const { bytes } = this
    let at = this.at
    for (let place = 0; place < text.length; place += 1) bytes[at++] = text.charCodeAt(place)
    this.at = at
  }

  utf8(text: string): void {
    const encoded = Buffer.from(text)
    this.copy(encoded, 0, encoded.length)
  }

  copy(source: Buffer, start: number, end: number): void {
    if (end - start > shortBytes) {
      this.#copyLong(source, start, end)
      return
    }
    this.ensure(end - start)
    const { bytes } = this
    let at = this.at
    for (let from = start; from < end; from += 1) bytes[at++] = source[from]!
    this.at = at
  }

  /** Returns the rest as Latin-1, one character per byte. The writer cannot be used afterwards. */
  finish(): string {
    const rest = this.bytes.toString('latin1', 0, this.at)
    giveBackChunk(this.bytes)
    this.bytes = empty
    this.at = 0
    return rest
  }

  #copyLong(source: Buffer, start: number, end: number): void {
    for (let from = start; from < end; ) {
      this.ensure(1)
      const copied = source.copy(this.bytes, this.at, from, end)
      this.at += copied
      from += copied
    }
  }
}

/**
 * Copies a short value, four bytes at a time. May write up to three bytes past its end: there must be room for them,
 * and no data.
 */
export function copyShort(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  if (end - start < fewBytes || end + 3 > source.length || source.length > mostRemembered) {
    let to = at
    for (let from = start; from < end; from += 1) target[to++] = source[from]!
    return to
  }
  const into = targets.viewOf(target)
  const out = sources.viewOf(source)
  for (let from = start, to = at; from < end; from += 4, to += 4) {
    into.setInt32(to, out.getInt32(from, true), true)
  }
  return at + end - start
}

/** Row after row is read from one buffer and written into another: mostly the last view can be reused. */
class LastView {
  #buffer: Buffer | undefined
  #view: DataView = new DataView(new ArrayBuffer(0))

  viewOf(buffer: Buffer): DataView {
    if (buffer === this.#buffer) return this.#view
    const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length)
    // Do not keep a huge row in memory.
    if (buffer.length > mostRemembered) return view
    this.#buffer = buffer
    this.#view = view
    return view
  }
}

export const targets = new LastView()
export const sources = new LastView()

/** In bytes. */
export const mostRemembered = 1024 ** 2
/** Fewer bytes are copied faster one by one. */
const fewBytes = 6

export const chunkBytes = 64 * 1024
/** Below this a loop is faster than the call into native code. */
const shortBytes = 48
const empty = Buffer.alloc(0)

// Sent chunks are reused: otherwise every 30 MB of rows would cause a full garbage collection.
const spareChunks: Buffer[] = []
const maxSpareChunks = 64

function takeChunk(): Buffer {
  return spareChunks.pop() ?? Buffer.allocUnsafeSlow(chunkBytes)
}

/** For a chunk that is no longer read. */
export function giveBackChunk(chunk: Buffer): void {
  const { buffer } = chunk
  if (buffer.byteLength !== chunkBytes || spareChunks.length === maxSpareChunks) return
  spareChunks.push(chunk.length === chunkBytes ? chunk : Buffer.from(buffer))
}
