import { type CsvForm, type CsvRecord, CsvRecords, OpenQuoteError } from './csv-records.ts'

/** A row that COPY refuses: the line it begins in, why, and its bytes. */
export type BadRow = Readonly<{ line: number; message: string; bytes: Uint8Array }>

/** CsvRecords that goes on after a bad row. A record fits if it has as many fields as the first one. */
export class FittingRecords {
  readonly #records: CsvRecords
  readonly #onRecord: (record: CsvRecord) => void
  readonly #onBad: (row: BadRow) => void
  #fields: number | undefined

  constructor(form: CsvForm, onRecord: (record: CsvRecord) => void, onBad: (row: BadRow) => void) {
    this.#onRecord = onRecord
    this.#onBad = onBad
    this.#records = new CsvRecords(form, (record) => this.#take(record))
  }

  push(chunk: Uint8Array): void {
    while (!this.#isDone(() => this.#records.push(chunk)));
  }

  end(): void {
    while (!this.#isDone(() => this.#records.end()));
  }

  /** False: a line was left out, and the lines after it were read. */
  #isDone(read: () => void): boolean {
    try {
      read()
      return true
    } catch (error) {
      if (!(error instanceof OpenQuoteError)) throw error
      const { line, message } = error
      this.#records.leaveOutLine((bytes) => this.#onBad({ line, message, bytes }))
      return false
    }
  }

  #take(record: CsvRecord): void {
    const { bytes, starts, ends, count, firstLine } = record
    this.#fields ??= count
    const message = count === this.#fields ? endMark(record) : wrongCount(record, this.#fields)
    if (message === undefined) this.#onRecord(record)
    else this.#onBad({ line: firstLine, message, bytes: bytes.subarray(starts[0]!, ends[count - 1]!) })
  }
}

function wrongCount({ starts, ends, count, line, firstLine }: CsvRecord, wanted: number): string {
  if (count === 1 && starts[0] === ends[0])
    return 'This line is empty: take it out, PostgreSQL would refuse it.'
  const values = count === 1 ? 'one value' : `${count} values`
  if (line === firstLine) return `This line has ${values}, not ${wanted}.`
  return `The quotation mark opened here is closed in line ${line.toLocaleString('en-US')}, so that the row has ${values}, not ${wanted}.`
}

const endMark = ({ bytes, starts, ends, count }: CsvRecord) =>
  count === 1 &&
  ends[0]! - starts[0]! === 2 &&
  bytes[starts[0]!] === BACKSLASH &&
  bytes[starts[0]! + 1] === DOT
    ? 'For PostgreSQL a line of \\. is the end.'
    : undefined

const BACKSLASH = 92
const DOT = 46
