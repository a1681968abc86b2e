import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'

export const checksumAlgorithms = ['sha1', 'sha256', 'sha512', 'md5'] as const
export type Checksum = Readonly<{ algorithm: (typeof checksumAlgorithms)[number]; digest: Buffer }>

/** The bytes of one request on their way to the file of an upload. */
export class UploadPart {
  readonly #file: FileHandle
  readonly #hash: Hash | undefined
  readonly #checksum: Checksum | undefined
  #position: number

  private constructor(file: FileHandle, offset: number, checksum: Checksum | undefined) {
    this.#file = file
    this.#position = offset
    this.#checksum = checksum
    this.#hash = checksum && createHash(checksum.algorithm)
  }

  static async open(path: string, offset: number, checksum?: Checksum): Promise<UploadPart> {
    return new UploadPart(await open(path, 'r+'), offset, checksum)
  }

  get position(): number {
    return this.#position
  }

  async write(chunk: Buffer): Promise<void> {
    this.#hash?.update(chunk)
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.#file.write(chunk, done, chunk.length - done, this.#position + done)
      done += bytesWritten
    }
    this.#position += chunk.length
  }

  /** Up to where the bytes are on the disk now. */
  async flush(): Promise<number> {
    const position = this.#position
    await this.#file.datasync()
    return position
  }

  /** Compares the checksum of the whole part. True without a checksum. */
  isAsAnnounced(): boolean {
    return !this.#hash || this.#hash.digest().equals(this.#checksum!.digest)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
