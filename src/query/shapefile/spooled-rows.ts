import type { ShapeFiles } from './shape-files.ts'
import { isNull } from './shape-rows.ts'

/** Takes the rows of ShapeRows from a buffer that is filled again and again. */
export class SpooledRows {
  bytes = Buffer.allocUnsafeSlow(usualBytes)
  /** Where the bytes that were read end. */
  end = 0
  /** Where the next row begins. */
  #start = 0
  #rowEnd = 0
  /** Of the values of a row; a length below 0 is a NULL. */
  readonly #starts: Int32Array
  readonly #lengths: Int32Array

  constructor(columns: number) {
    this.#starts = new Int32Array(columns)
    this.#lengths = new Int32Array(columns)
  }

  /** Writes whole rows. True: there may be more, but the files must be flushed first. */
  writeTo(files: readonly ShapeFiles[]): boolean {
    while (this.#find()) {
      const at = this.#start
      const file = files[this.bytes[at]!]!
      file.add(this.bytes, at + headBytes, this.bytes.readUInt32LE(at + 1), this.#starts, this.#lengths)
      this.#start = this.#rowEnd
      if (file.waiting > mostWaiting) return true
    }
    return false
  }

  /** For more bytes of a row that is not whole. */
  makeRoom(): void {
    const old = this.bytes
    const rest = this.end - this.#start
    if (rest > old.length / 2) this.bytes = Buffer.allocUnsafeSlow(2 * old.length)
    else if (rest < usualBytes / 2 && old.length > usualBytes) this.bytes = Buffer.allocUnsafeSlow(usualBytes)
    old.copy(this.bytes, 0, this.#start, this.end)
    this.#start = 0
    this.end = rest
  }

  /** Finds the values of the next row. False: it is not whole. */
  #find(): boolean {
    const { bytes, end } = this
    const start = this.#start
    if (start + headBytes > end) return false
    let at = start + headBytes + bytes.readUInt32LE(start + 1)
    for (let place = 0; place < this.#starts.length; place += 1) {
      if (at >= end) return false
      const length = bytes[at]!
      at += 1
      this.#starts[place] = at
      this.#lengths[place] = length === isNull ? -1 : length
      if (length !== isNull) at += length
    }
    this.#rowEnd = at
    return at <= end
  }
}

/** The number of the layer, and the length of the shape. */
const headBytes = 5
const usualBytes = 256 * 1024
const mostWaiting = 1024 ** 2
