import { type WireError, wireFailure } from './wire-error.ts'
import type { WireHandler, WireOutcome } from './wire-handler.ts'

/** The values of a row, in the format that was asked for. */
export type WireRow = readonly (Buffer | null)[]

/** Keeps the rows of each of our statements, of any length: they limit what they answer. */
export class CollectedRows implements WireHandler {
  readonly longestRow = Number.POSITIVE_INFINITY
  readonly #answers: WireRow[][] = [[]]
  #error: WireError | null = null
  /** Called when the server has parsed a statement. */
  readonly parsed: () => void

  constructor(parsed: () => void = () => undefined) {
    this.parsed = parsed
  }

  dataRow(buffer: Buffer, start: number): void {
    this.#answers.at(-1)!.push(readRow(buffer, start))
  }

  commandComplete(): void {
    this.#answers.push([])
  }

  answered({ error }: WireOutcome): void {
    this.#error ??= error
  }

  /** The rows by statement. Throws the error, like `pg`. */
  whole(): readonly (readonly WireRow[])[] {
    if (this.#error) throw wireFailure(this.#error)
    return this.#answers.slice(0, -1)
  }
}

function readRow(buffer: Buffer, start: number): WireRow {
  const count = buffer.readUInt16BE(start)
  const row: (Buffer | null)[] = []
  let at = start + 2
  for (let column = 0; column < count; column += 1) {
    const length = buffer.readInt32BE(at)
    at += 4
    row.push(length < 0 ? null : Buffer.from(buffer.subarray(at, at + length)))
    at += Math.max(length, 0)
  }
  return row
}
