import { type Format, formats } from '../../../contract/formats.ts'
import { membersOf, type RawMember, shownValue } from '../../../contract/text/json-rows.ts'
import type { OutputStream } from '../../terminal.ts'
import { cellsOf, loadWidths } from './cell.ts'
import { recordText } from './record.ts'
import { type Rows, type TableStyle, tableText } from './table.ts'

export const outputFormats = ['table', 'line', 'csv', 'tsv', 'json', 'ndjson', 'geojson', 'markdown'] as const
export type OutputFormat = (typeof outputFormats)[number]

/** The service writes it itself: its bytes are passed on unchanged. */
export const isServed = (format: OutputFormat): format is Format =>
  (formats as readonly string[]).includes(format)

/** The format of a file by its extension. */
export const formatByExtension = (file: string): OutputFormat | undefined =>
  extensions[/\.(\w+)$/.exec(file)?.[1]?.toLowerCase() ?? '']

const extensions: Readonly<Record<string, OutputFormat>> = {
  csv: 'csv',
  tsv: 'tsv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  geojson: 'geojson',
  md: 'markdown',
  txt: 'table',
}

/** Rows in a format that the service does not write. */
export function rowsText(
  format: Exclude<OutputFormat, Format | 'tsv'>,
  rows: Rows,
  look: TableStyle,
): AsyncIterable<string> {
  if (format === 'table') return tableText(rows, look)
  if (format === 'line') return linesText(rows, look.style)
  return markdownText(rows)
}

async function* linesText({ texts }: Rows, style: OutputStream['style']): AsyncGenerator<string> {
  await loadWidths()
  let count = 0
  for await (const batch of texts) {
    yield batch.map((row) => recordText(cellsOf(membersOf(row)), ++count, style)).join('')
  }
}

const markdownText = (rows: Rows) =>
  linedText(
    rows,
    (names) => markdownLine(names.map(markdownValue)) + markdownLine(names.map(() => '---')),
    ([, raw]) => markdownValue(shownValue(raw) ?? 'NULL'),
    markdownLine,
  )
const markdownLine = (values: readonly string[]) => `| ${values.join(' | ')} |\n`
const markdownValue = (text: string) => text.replace(/[\\|]/g, '\\$&').replace(/\r?\n/g, '<br>')

async function* linedText(
  { texts, fields }: Rows,
  head: (names: readonly string[]) => string,
  value: (member: RawMember) => string,
  line: (values: readonly string[]) => string,
): AsyncGenerator<string> {
  let hasHead = false
  for await (const batch of texts) {
    let text = ''
    for (const row of batch) {
      const members = membersOf(row)
      if (!hasHead) text += head(members.map(([name]) => name))
      hasHead = true
      text += line(members.map(value))
    }
    yield text
  }
  const names = Object.keys(fields())
  if (!hasHead && names.length > 0) yield head(names)
}
