import { CartageError } from '../../../client/cartage-error.ts'
import { encodings } from '../../../file-import/csv-head.ts'
import { CsvError, type CsvRecord, CsvRecords } from '../../../file-import/csv-records.ts'
import { geojsonDialect } from '../../../file-import/geojson-csv.ts'
import type { ImportPlan } from '../../../file-import/import-plan.ts'
import { FailedError } from '../../command-error.ts'
import { markedLine } from '../explain.ts'
import type { ImportFile } from './import-file.ts'

/** An error of COPY about a line, with that line of the file. Other errors are returned unchanged. */
export async function explainCopy(
  error: unknown,
  path: string,
  file: ImportFile,
  { columns }: ImportPlan,
): Promise<unknown> {
  if (!(error instanceof CartageError)) return error
  const [, line, column] = /, line (\d+)(?:, column ([^:]+))?(?::|$)/m.exec(error.context ?? '') ?? []
  if (!line) return error
  const field = columns.findIndex(({ name }) => name === column)
  const { detail, hint } = error
  return new FailedError(
    [
      error.message,
      ...(await showLine(path, file, Number(line), field)),
      ...(detail ? [`detail: ${detail}`] : []),
      ...(hint ? [`hint: ${hint}`] : []),
      ...(column ? [`hint: --type ${column}=text loads the values unchanged.`] : []),
    ].join('\n'),
  )
}

/** The place and the text of a line, with marks under the field if one is given. */
export async function showLine(
  path: string,
  file: ImportFile,
  line: number,
  field = -1,
): Promise<readonly string[]> {
  const found = await findRecord(file, line, field)
  const isGeojson = file.dialect === geojsonDialect
  const place = `${path}, ${isGeojson && found ? `feature ${found.number - 1}` : `line ${line}`}`
  if (!found) return [`  ${place}`]
  const marked = markedLine(String(line), found.parts)
  return [`  ${place}:`, ...(field < 0 ? marked.slice(0, 1) : marked)]
}

type FoundRecord = Readonly<{ number: number; parts: ReturnType<typeof partsOf> }>

/** Reads the file again, up to the record that ends in the line. */
async function findRecord(file: ImportFile, line: number, field: number): Promise<FoundRecord | undefined> {
  const { dialect } = file
  const decoder = new TextDecoder(encodings[dialect.encoding])
  let number = 0
  let found: FoundRecord | undefined
  const records = new CsvRecords(dialect, (record) => {
    number++
    if (record.line === line)
      found = { number, parts: partsOf(record, field, (bytes) => decoder.decode(bytes)) }
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
  return found
}

/** The field and the text around it. Without a field, the beginning of the line. */
function partsOf(record: CsvRecord, field: number, decode: (bytes: Uint8Array) => string) {
  const { bytes, starts, ends, count } = record
  const [from, to, end] = [starts[field] ?? starts[0]!, ends[field] ?? starts[0]!, ends[count - 1]!]
  const text = (start: number, stop: number) => decode(bytes.subarray(start, stop)).replace(/\r\n?|\n/g, '↵')
  const before = text(starts[0]!, from)
  return {
    before: before.length > 40 ? `…${before.slice(-40)}` : before,
    word: cutEnd(text(from, to), 60),
    after: cutEnd(text(to, end), field < 0 ? 100 : 40),
  }
}

const cutEnd = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text)
