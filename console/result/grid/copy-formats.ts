import { quoteLiteral, quoteName } from '../../../src/contract/text/quote.ts'
import type { ResultColumn, ResultRow } from '../worker/protocol.ts'

export type CopyFormat = 'TSV' | 'TSV with header' | 'CSV' | 'JSON' | 'Markdown' | 'INSERT'

export const copyFormats: readonly CopyFormat[] = [
  'TSV',
  'TSV with header',
  'CSV',
  'JSON',
  'Markdown',
  'INSERT',
]

export const writers: Record<
  CopyFormat,
  (columns: readonly ResultColumn[], rows: readonly ResultRow[]) => string
> = {
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
  INSERT: (columns, rows) => {
    const names = columns.map(({ name }) => quoteName(name)).join(', ')
    const written = rows.map((row) => `  (${row.map((value, at) => inSql(value, columns[at]!)).join(', ')})`)
    return `insert into my_table (${names}) values\n${written.join(',\n')};`
  },
}

/** As PostgreSQL reads it, for a column of any type. */
function inSql(value: string | null, { type, pgtype = '' }: ResultColumn): string {
  if (value === null) return 'null'
  if (type === 'number' && /^-?\d/.test(value)) return value
  if (type === 'boolean') return value
  return quoteLiteral(pgtype.startsWith('_') ? asArray(value) : value)
}

/** The service sends an array as JSON. */
const asArray = (json: string) =>
  json.replace(/"(?:[^"\\]|\\.)*"|[[\]]/g, (part) =>
    part === '[' ? '{' : part === ']' ? '}' : inArray(part),
  )

const inArray = (text: string) => `"${(JSON.parse(text) as string).replace(/["\\]/g, '\\$&')}"`

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
