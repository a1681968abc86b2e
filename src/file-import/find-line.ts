import { CsvError, type CsvRecord, CsvRecords } from './csv-records.ts'
import { encodings } from './encodings.ts'
import type { ImportFile } from './import-file.ts'
import type { ImportColumn } from './import-plan.ts'

/** A record of a file: a field of it and the text around it. Without a field all of it is `after`. */
export type FoundLine = Readonly<{
  /** Counted from 1, the header too. undefined: the line is part of a record that does not end. */
  record: number | undefined
  before: string
  word: string
  after: string
}>

/** Reads the file up to the record that ends in a line, counted as COPY does. */
export async function findLine(
  file: Pick<ImportFile, 'dialect' | 'text'>,
  line: number,
  field = -1,
): Promise<FoundLine | undefined> {
  const decoder = new TextDecoder(encodings[file.dialect.encoding])
  let number = 0
  let found: FoundLine | undefined
  const records = new CsvRecords(file.dialect, (record) => {
    number++
    if (record.line === line)
      found = { record: number, ...partsOf(record, field, (bytes) => decoder.decode(bytes)) }
  })
  try {
    for await (const chunk of file.text()) {
      records.push(chunk)
      if (found) return found
    }
    records.end()
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
  }
  return found ?? textLine(file, line)
}

/** The field and the text around it. Without a field, the beginning of the line. */
function partsOf(record: CsvRecord, field: number, decode: (bytes: Uint8Array) => string) {
  const { bytes, starts, ends, count } = record
  const [from, to, end] = [starts[field] ?? starts[0]!, ends[field] ?? starts[0]!, ends[count - 1]!]
  return {
    before: decode(bytes.subarray(Math.max(starts[0]!, from - mostBytes), from)),
    word: decode(bytes.subarray(from, Math.min(to, from + mostBytes))),
    after: decode(bytes.subarray(to, Math.min(end, to + mostBytes))),
  }
}

/** More of a line is not shown. */
const mostBytes = 4_000

/** A line where quotes mean nothing. */
async function textLine(
  { dialect, text }: Pick<ImportFile, 'dialect' | 'text'>,
  wanted: number,
): Promise<FoundLine | undefined> {
  const decoder = new TextDecoder(encodings[dialect.encoding])
  let line = 1
  let after = ''
  for await (const chunk of text()) {
    let at = 0
    while (line < wanted && at < chunk.length) {
      const end = chunk.indexOf(LF, at)
      at = end < 0 ? chunk.length : end + 1
      if (end >= 0) line++
    }
    if (line < wanted) continue
    const end = chunk.indexOf(LF, at)
    const to = Math.min(end < 0 ? chunk.length : end, at + mostBytes)
    after += decoder.decode(chunk.subarray(at, to), { stream: true })
    if (end >= 0 || after.length >= mostBytes) break
  }
  return line < wanted
    ? undefined
    : { record: undefined, before: '', word: '', after: after.replace(/\r$/, '') }
}

const LF = 10

/** The line and the column that an error of COPY names in its context: `COPY t, line 3, column n: "x"`. */
export function placeInCopy<Column extends Pick<ImportColumn, 'name'>>(
  context: string | undefined,
  columns: readonly Column[],
): Readonly<{ line: number; column: Column | undefined }> | undefined {
  const line = /, line (\d+)/.exec(context ?? '')?.[1]
  if (!context || !line) return undefined
  const named = columns.filter(({ name }) => context.includes(`, line ${line}, column ${name}: `))
  // A name may begin like another.
  const [column] = named.sort((one, other) => other.name.length - one.name.length)
  return { line: Number(line), column }
}
