import type { AppError } from '../../errors.ts'
import type { ByteWriter } from './byte-writer.ts'
import type { Column } from './columns.ts'

export type FormatOptions = Readonly<{ skippedFields: ReadonlySet<string> }>

/** The rows on all pages. */
export type PageTotal = Readonly<{ rows: number; kind: string }>

/** What is known when the last statement has ended. */
export type Summary = Readonly<{
  seconds: number
  /** The columns of the last statement that has any. */
  fields: readonly Field[]
  totalRows: number
  /** The rows of all pages, if the caller asked for them. */
  total?: PageTotal | undefined
  /** Messages by kind: `notices`, `warnings`. */
  notices: ReadonlyMap<string, readonly string[]>
}>

export type Field = Readonly<{ name: string; type: string; pgtype?: string | undefined }>

/** Turns wire messages into the bytes of one answer. */
export type RowFormat = {
  /** True if the answer shows the summary's fields, which then must be looked up. */
  readonly hasFields: boolean
  /**
   * `refuse` ends the statement: a row cannot be written in this format. `warn` says what the answer leaves out, if the
   * format itself has no place for that.
   */
  begin(out: ByteWriter, refuse: (reason: AppError) => void, warn: (sentence: string) => void): void
  columns(out: ByteWriter, columns: readonly Column[]): void
  row(out: ByteWriter, row: Buffer, start: number, end: number): void
  /** The same for a row of any length: yields often, so that other work gets its turn. */
  longRow(out: ByteWriter, row: Buffer, start: number): Generator<void>
  end(out: ByteWriter, summary: Summary): void
}
