import type { IncomingMessage } from 'node:http'

/**
 * Counts the parts of a multipart body as its bytes come. The parser takes a whole read before it looks at any limit, and a read
 * can have thousands of empty parts.
 */
export class PartLimit {
  readonly #delimiter: Buffer
  #tail: Buffer = Buffer.alloc(0)
  #left: number

  /** Undefined for a body that is not multipart, and for the data of a copy, which is not parsed as such. */
  static of({ url = '', headers }: IncomingMessage): PartLimit | undefined {
    const contentType = headers['content-type']
    if (!contentType?.toLowerCase().startsWith('multipart/') || url.includes('/copyfrom')) return undefined
    const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? []
    const boundary = quoted ?? plain
    return boundary === undefined ? undefined : new PartLimit(boundary, mostParts)
  }

  constructor(boundary: string, most: number) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
    this.#left = most
  }

  /** The end of a body with this boundary. */
  get closing(): Buffer {
    return Buffer.concat([this.#delimiter, Buffer.from('--\r\n')])
  }

  /** False as soon as there are too many. */
  accepts(chunk: Buffer): boolean {
    const bytes = Buffer.concat([this.#tail, chunk])
    const { length } = this.#delimiter
    let end = 0
    for (let at = bytes.indexOf(this.#delimiter); at >= 0; at = bytes.indexOf(this.#delimiter, end)) {
      this.#left -= 1
      if (this.#left < 0) return false
      end = at + length
    }
    // What may be the beginning of a delimiter.
    this.#tail = Buffer.from(bytes.subarray(Math.max(end, bytes.length - length + 1)))
    return true
  }
}

/** More than there are parameters. */
export const mostParts = 64
