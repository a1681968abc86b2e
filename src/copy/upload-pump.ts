import type { ContentEncoding } from '../contract/formats.ts'
import { AppError, errors } from '../errors.ts'
import { compressionOf, createDecoder, type Decoder, decodingError } from './decoder.ts'
import { freeFilled, freeWhole, type WriteEnd } from './free-memory.ts'
import type { Upload } from './upload.ts'

export type PumpTarget = Readonly<{
  /**
   * False: the target is full, wait for `resume`. `sent` is called when the chunk is no longer needed. Throws if the
   * upload must be refused.
   */
  write: (chunk: Buffer, sent: WriteEnd) => boolean
  end: () => void
  fail: (reason: AppError) => void
}>

/**
 * Moves an uploaded body into a COPY: counts it, decompresses it, and pauses the client while the server is busy. Ends
 * with one call of `end` or `fail`, or when it is stopped; the body is left to its owner.
 */
export class UploadPump {
  readonly #upload: Upload
  readonly #maxBytes: number
  readonly #target: PumpTarget
  #wireBytes = 0
  #compression: string | undefined
  #decoder: Decoder | null = null
  #isFinished = false

  constructor(upload: Upload, maxBytes: number, target: PumpTarget) {
    this.#upload = upload
    this.#maxBytes = maxBytes
    this.#target = target
  }

  /** The compression that the body seems to have, although no header says so. */
  get unannouncedCompression(): string | undefined {
    return this.#upload.encoding ? undefined : this.#compression
  }

  start(): void {
    if (this.#isFinished) return
    this.#upload.begin()
    this.#upload.body.on('data', this.#onBody).on('end', this.#onBodyEnd).on('error', this.#onCut)
    this.#listen()
  }

  /** The target has room again. */
  resume(): void {
    if (this.#isFinished) return
    if (this.#decoder) this.#decoder.resume()
    else this.#listen()
  }

  stop(): void {
    if (this.#isFinished) return
    this.#isFinished = true
    const { body, wait } = this.#upload
    wait.end()
    body.off('data', this.#onBody).off('end', this.#onBodyEnd)
    body.pause()
    this.#decoder?.destroy()
  }

  #listen(): void {
    this.#upload.wait.begin((idleMs) => this.#fail(errors.clientIdle(idleMs)))
    this.#upload.body.resume()
  }

  #holdClient(): void {
    this.#upload.wait.end()
    this.#upload.body.pause()
  }

  readonly #onBody = (chunk: Buffer): void => {
    if (this.#wireBytes === 0) this.#compression = compressionOf(chunk)
    this.#wireBytes += chunk.length
    if (this.#wireBytes > this.#maxBytes) this.#fail(tooLarge(this.#maxBytes))
    else if (!this.#take(chunk)) this.#holdClient()
  }

  #take(chunk: Buffer): boolean {
    const { encoding } = this.#upload
    const free = freeWhole(chunk)
    return encoding ? this.#decoderFor(encoding, chunk).write(chunk, free) : this.#pass(chunk, free)
  }

  readonly #onBodyEnd = (): void => {
    const { encoding, isComplete, wait } = this.#upload
    wait.end()
    if (!isComplete()) this.#fail(errors.bodyIncomplete())
    else if (encoding) this.#decoderFor(encoding, Buffer.alloc(0)).end()
    else this.#finish()
  }

  readonly #onCut = (): void => this.#fail(errors.bodyIncomplete())

  #decoderFor(encoding: ContentEncoding, firstBytes: Buffer): Decoder {
    this.#decoder ??= createDecoder(encoding, firstBytes)
      .on('data', (chunk: Buffer) => {
        if (!this.#pass(chunk, freeFilled(chunk))) this.#decoder?.pause()
      })
      .on('drain', () => {
        if (!this.#isFinished) this.#listen()
      })
      .on('end', () => this.#onDecoderEnd(encoding))
      .on('error', (error) => this.#fail(decodingError(encoding, error))) as Decoder
    return this.#decoder
  }

  /** A decoder stops at the end of the compressed data. More data after that is an error: it must not be lost silently. */
  #onDecoderEnd(encoding: ContentEncoding): void {
    const isWhole = this.#decoder!.bytesWritten === this.#wireBytes && this.#upload.isComplete()
    if (isWhole) this.#finish()
    else this.#fail(decodingError(encoding, new Error('there is data after the end of the compressed data')))
  }

  #pass(chunk: Buffer, sent: WriteEnd): boolean {
    if (this.#isFinished) return true
    try {
      return this.#target.write(chunk, sent)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      this.#fail(error)
      return true
    }
  }

  #finish(): void {
    if (this.#isFinished) return
    this.stop()
    this.#target.end()
  }

  #fail(reason: AppError): void {
    if (this.#isFinished) return
    this.stop()
    this.#target.fail(reason)
  }
}

export function tooLarge(maxBytes: number): AppError {
  const [unit, size] = units.find(([, bytes]) => maxBytes % bytes === 0)!
  return errors.copyTooLarge(`${maxBytes / size} ${unit}`)
}

const units = [
  ['GB', 1024 ** 3],
  ['MB', 1024 ** 2],
  ['KB', 1024],
  ['bytes', 1],
] as const
