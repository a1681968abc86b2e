export type TileEncoding = Readonly<{ name: string; encode: (bytes: Buffer) => Promise<Buffer> }>

/** Compresses bytes once for all who ask for them. */
export class Encodings {
  readonly #known = new WeakMap<Buffer, Map<string, Promise<Buffer>>>()

  run(bytes: Buffer, { name, encode }: TileEncoding): Promise<Buffer> {
    const known = this.#known.get(bytes) ?? new Map<string, Promise<Buffer>>()
    this.#known.set(bytes, known)
    const encoded = known.get(name) ?? encode(bytes)
    known.set(name, encoded)
    return encoded
  }
}
