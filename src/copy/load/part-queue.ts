import type { AppError } from '../../errors.ts'
import type { WriteEnd } from '../free-memory.ts'
import type { Part, PartReader } from './part-reader.ts'

/** Between the upload, which pushes bytes, and the load, which takes parts: at most two parts wait. */
export class PartQueue {
  readonly #reader: PartReader
  /** Asks the upload for more. */
  readonly #resume: () => void
  readonly #parts: Part[] = []
  #isEnded = false
  #isPaused = false
  #failure: AppError | undefined
  #waiting: { resolve: (part: Part | null) => void; reject: (reason: unknown) => void } | undefined

  constructor(reader: PartReader, resume: () => void) {
    this.#reader = reader
    this.#resume = resume
  }

  /** False: wait for `resume`. Throws if the data cannot be loaded in parts. */
  write(chunk: Buffer, sent: WriteEnd): boolean {
    this.#reader.push(chunk)
    sent()
    this.#gather()
    this.#isPaused = this.#parts.length >= mostParts
    this.#serve()
    return !this.#isPaused
  }

  end(): void {
    this.#isEnded = true
    this.#reader.end()
    this.#gather()
    this.#serve()
  }

  fail(reason: AppError): void {
    this.#failure ??= reason
    this.#waiting?.reject(reason)
    this.#waiting = undefined
  }

  /** The next part; null at the end. */
  next(): Promise<Part | null> {
    if (this.#failure) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#serve()
    })
  }

  #gather(): void {
    for (let part = this.#reader.take(); part; part = this.#reader.take()) this.#parts.push(part)
  }

  #serve(): void {
    if (!this.#waiting || (this.#parts.length === 0 && !this.#isEnded)) return
    const { resolve } = this.#waiting
    this.#waiting = undefined
    resolve(this.#parts.shift() ?? null)
    if (!this.#isPaused || this.#parts.length >= mostParts) return
    this.#isPaused = false
    this.#resume()
  }
}

const mostParts = 2
