import type { Result } from '../result.ts'
import type { ResultLook } from '../result-look.ts'
import type { ResultColumn, ResultRow } from '../worker/protocol.ts'
import { shownTime } from '../worker/shown-cell.ts'
import { rangeOf } from './grid-selection.ts'

export type CopyFormat = 'TSV' | 'TSV with header' | 'CSV' | 'JSON' | 'Markdown'

export const copyFormats: readonly CopyFormat[] = ['TSV', 'TSV with header', 'CSV', 'JSON', 'Markdown']

/** Larger selections must be downloaded. */
const mostCells = 2_000_000

/** The selected cells as text, with full values, without hidden columns. */
export async function copySelection(result: Result, look: ResultLook, format: CopyFormat): Promise<string> {
  const range = rangeOf(look.selection.value)
  const { columns } = result.progress.value
  const hidden = look.hidden.value
  const isCopied = (_: unknown, at: number) => !hidden.has(range.left + at)
  const copied = columns.slice(range.left, range.right + 1).filter(isCopied)
  const count = (range.bottom - range.top + 1) * copied.length
  if (count > mostCells)
    throw new Error(`${count.toLocaleString('en-US')} cells are too many for the clipboard: use Download`)
  const rows = await result.ask('whole', range)
  return writers[format](
    copied,
    rows.map((row) => row.filter(isCopied).map((value, at) => copiedValue(value, copied[at]!))),
  )
}

/** Times as they are shown. */
const copiedValue = (value: string | null, { type, pgtype }: ResultColumn) =>
  value !== null && type === 'date' ? shownTime(value, pgtype) : value

const writers: Record<CopyFormat, (columns: readonly ResultColumn[], rows: readonly ResultRow[]) => string> =
  {
    TSV: (_columns, rows) => lines(rows, '\t', tabbed),
    'TSV with header': (columns, rows) => lines([columns.map(({ name }) => name), ...rows], '\t', tabbed),
    CSV: (columns, rows) => lines([columns.map(({ name }) => name), ...rows], ',', quoted),
    JSON: (columns, rows) => `[\n${rows.map((row) => `  {${members(columns, row)}}`).join(',\n')}\n]`,
    Markdown: (columns, rows) => {
      const line = (cells: readonly (string | null)[]) => `| ${cells.map(inMarkdown).join(' | ')} |`
      return [line(columns.map(({ name }) => name)), line(columns.map(() => '---')), ...rows.map(line)].join(
        '\n',
      )
    },
  }

const lines = (rows: readonly ResultRow[], separator: string, write: (value: string) => string) =>
  rows.map((row) => row.map((value) => (value === null ? '' : write(value))).join(separator)).join('\n')

/** As spreadsheets expect it: NULL and '' are both an empty cell. */
const tabbed = (value: string) => (/[\t\n\r"]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)

/** In CSV an empty string is quoted, NULL is not. */
const quoted = (value: string) =>
  value === '' || /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value

const inMarkdown = (value: string | null) =>
  value === null ? 'NULL' : value.replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll('\n', '<br>')

/** Numbers are copied as text, so no digit is lost. */
function members(columns: readonly ResultColumn[], row: ResultRow): string {
  return columns
    .map(({ name, type }, at) => {
      const value = row[at] ?? null
      const isBare =
        value === null || ((type === 'number' || type === 'boolean') && /^(-?\d|true$|false$)/.test(value))
      return `${JSON.stringify(name)}: ${isBare ? value : JSON.stringify(value)}`
    })
    .join(', ')
}
