import { Socket, type SocketConstructorOpts } from 'node:net'

/** Receives the bytes of one read. It owns the buffer until it calls `giveBack`. */
export type ReadTaker = (chunk: Buffer, giveBack: () => void) => void

/**
 * A socket that reads into a few large buffers and reuses them: gigabytes pass without garbage and with few system
 * calls. If each read is consumed at once, many sockets can share one buffer. Listeners of 'data' get a copy;
 * `takeReads` gets the buffers themselves.
 */
export class RecyclingSocket extends Socket {
  readonly #reads: Reads
  #onClosed: (() => void) | null = null

  constructor(shared?: Buffer) {
    const reads = new Reads(shared)
    const onread = {
      buffer: shared ?? (() => reads.nextBuffer()),
      callback: (length: number, buffer: Uint8Array) => reads.deliver(buffer as Buffer, length),
    }
    super({ onread } as SocketConstructorOpts)
    this.#reads = reads
    reads.onCopy = (chunk) => this.emit('data', chunk)
    this.on('close', () => this.#onClosed?.())
  }

  /**
   * Sends every read to `taker`, and the end of the connection to `onClosed`; null returns the reads to the listeners
   * of 'data'. (Adding and removing listeners takes longer than answering a short statement.)
   */
  takeReads(taker: ReadTaker | null, onClosed: (() => void) | null): void {
    this.#reads.taker = taker
    this.#onClosed = onClosed
  }
}

class Reads {
  taker: ReadTaker | null = null
  onCopy: (chunk: Buffer) => void = () => undefined
  readonly #shared: Buffer | undefined
  readonly #spare: Buffer[] = []

  constructor(shared: Buffer | undefined) {
    this.#shared = shared
  }

  nextBuffer(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(bufferBytes)
  }

  deliver(buffer: Buffer, length: number): true {
    if (this.taker) {
      this.taker(buffer.subarray(0, length), () => this.#keep(buffer))
      return true
    }
    this.onCopy(Buffer.from(buffer.subarray(0, length)))
    this.#keep(buffer)
    return true
  }

  #keep(buffer: Buffer): void {
    if (buffer === this.#shared) return
    if (this.#spare.length < (this.taker ? sparesAtWork : 1)) this.#spare.push(buffer)
  }
}

const bufferBytes = 256 * 1024
const sparesAtWork = 4
