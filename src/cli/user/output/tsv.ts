import { joinBytes } from '../../../contract/text/join-bytes.ts'
import { type CsvRecord, CsvRecords, fieldBytes } from '../../../file-import/csv-records.ts'

/**
 * CSV of the service in the text format of COPY, with a header: values as PostgreSQL writes them, NULL is \N; tabs, line
 * ends and backslashes are escaped. `onRow` is called for each row.
 */
export async function* tsvOfCsv(
  csv: AsyncIterable<Uint8Array>,
  onRow: () => void,
): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = []
  let isHeader = true
  const records = new CsvRecords({ delimiter: ',', quote: '"' }, (record) => {
    for (let at = 0; at < record.count; at++) {
      if (at > 0) parts.push(tab)
      parts.push(isNull(record, at) && !isHeader ? nullMark : escaped(fieldBytes(record, at)))
    }
    parts.push(lineEnd)
    if (!isHeader) onRow()
    isHeader = false
  })
  for await (const chunk of csv) {
    records.push(chunk)
    if (parts.length > 0) yield joinBytes(parts)
    parts = []
  }
  records.end()
  if (parts.length > 0) yield joinBytes(parts)
}

const isNull = ({ starts, ends }: CsvRecord, at: number) => starts[at] === ends[at]

const tab = Buffer.from('\t')
const lineEnd = Buffer.from('\n')
const nullMark = Buffer.from('\\N')

function escaped(bytes: Uint8Array): Uint8Array {
  if (!bytes.some((byte) => escapes.has(byte))) return bytes
  return Buffer.from(Array.from(bytes, (byte) => escapes.get(byte) ?? [byte]).flat())
}

const escapes: ReadonlyMap<number, readonly number[]> = new Map(
  (['\\\\', '\tt', '\nn', '\rr'] as const).map((pair) => [pair.charCodeAt(0), [92, pair.charCodeAt(1)]]),
)
