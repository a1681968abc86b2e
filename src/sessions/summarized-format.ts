import type { AppError } from '../errors.ts'
import type { ByteWriter } from '../query/rows/byte-writer.ts'
import type { Column } from '../query/rows/columns.ts'
import type { RowFormat, Summary } from '../query/rows/row-format.ts'

/** A format whose summary is kept: a session sends it in a frame of its own. */
export class SummarizedFormat implements RowFormat {
  readonly hasFields = true
  summary: Summary | undefined
  readonly #format: RowFormat

  constructor(format: RowFormat) {
    this.#format = format
  }

  begin(out: ByteWriter, refuse: (reason: AppError) => void): void {
    // The summary has the warnings.
    this.#format.begin(out, refuse, () => undefined)
  }

  columns(out: ByteWriter, columns: readonly Column[]): void {
    this.#format.columns(out, columns)
  }

  row(out: ByteWriter, row: Buffer, start: number, end: number): void {
    this.#format.row(out, row, start, end)
  }

  longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    return this.#format.longRow(out, row, start)
  }

  end(out: ByteWriter, summary: Summary): void {
    this.summary = summary
    this.#format.end(out, summary)
  }
}
