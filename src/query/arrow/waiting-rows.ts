import type { Values } from './column-builders.ts'

/** Rows, copied from the wire until there are enough to be read column by column, which is faster than row by row. */
export class WaitingRows {
  #bytes = Buffer.allocUnsafeSlow(usualBytes)
  #view = new DataView(this.#bytes.buffer)
  #length = 0
  #count = 0
  /** For each column, for each row. */
  #starts = new Int32Array()
  #lengths = new Int32Array()

  prepare(columns: number): void {
    this.#starts = new Int32Array(columns * maxWaiting)
    this.#lengths = new Int32Array(columns * maxWaiting)
  }

  isFull(rowBytes: number): boolean {
    return this.#count === maxWaiting || (this.#count > 0 && this.#length + rowBytes > this.#bytes.length)
  }

  add(row: Buffer, start: number, end: number): void {
    const length = end - start
    if (length > this.#bytes.length) this.#grow(length)
    if (length > shortBytes) row.copy(this.#bytes, this.#length, start, end)
    else {
      const target = this.#bytes
      let to = this.#length
      for (let from = start; from < end; from += 1) target[to++] = row[from]!
    }
    this.#readPlaces(this.#length)
    this.#length += length
    this.#count += 1
  }

  values(columns: number): Omit<Values, 'first'> {
    const count = columns === 0 ? 0 : this.#count
    return { bytes: this.#bytes, starts: this.#starts, lengths: this.#lengths, count }
  }

  clear(): void {
    this.#length = 0
    this.#count = 0
    if (this.#bytes.length > usualBytes) this.#grow(usualBytes)
  }

  #readPlaces(start: number): void {
    const view = this.#view
    const starts = this.#starts
    const lengths = this.#lengths
    let at = start + 2
    for (let place = this.#count; place < starts.length; place += maxWaiting) {
      const length = view.getInt32(at)
      at += 4
      starts[place] = at
      lengths[place] = length
      if (length > 0) at += length
    }
  }

  #grow(bytes: number): void {
    this.#bytes = Buffer.allocUnsafeSlow(bytes)
    this.#view = new DataView(this.#bytes.buffer)
  }
}

export const maxWaiting = 1024
const usualBytes = 512 * 1024
const shortBytes = 64
