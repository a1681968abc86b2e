import type { FileHandle } from 'node:fs/promises'

/** A file that is written from one buffer, which is filled without waiting. */
export class GrowingFile {
  readonly #file: FileHandle
  bytes = Buffer.allocUnsafeSlow(usualBytes)
  length = 0

  constructor(file: FileHandle) {
    this.#file = file
  }

  /** Makes room for so many bytes, and returns where they begin. */
  room(count: number): number {
    const at = this.length
    this.length += count
    if (this.length > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, this.length))
      this.bytes.copy(larger, 0, 0, at)
      this.bytes = larger
    }
    return at
  }

  add(bytes: Buffer): void {
    bytes.copy(this.bytes, this.room(bytes.length))
  }

  async flush(): Promise<void> {
    for (let at = 0; at < this.length; )
      at += (await this.#file.write(this.bytes, at, this.length - at)).bytesWritten
    this.length = 0
    if (this.bytes.length > mostKept) this.bytes = Buffer.allocUnsafeSlow(usualBytes)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

const usualBytes = 256 * 1024
const mostKept = 4 * 1024 ** 2
