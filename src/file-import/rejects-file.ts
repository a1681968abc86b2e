import type { RejectedRow, RejectedSection } from '../contract/documents.ts'
import { headerOf, type ImportFile } from './import-file.ts'

/** The rows that were left out, as a file like the one that was sent: with its header, in UTF-8. Can be mended and sent again. */
export function rejectsFile(
  file: Pick<ImportFile, 'rows' | 'dialect'>,
  rejected: readonly Pick<RejectedRow, 'text'>[],
): string {
  const { hasHeader, delimiter, isCopyText } = file.dialect
  const names = headerOf(file).map((name) => (isCopyText ? (name ?? '') : quoted(name ?? '', delimiter)))
  const lines = [...(hasHeader ? [names.join(delimiter)] : []), ...rejected.map(({ text }) => text)]
  return `${lines.join('\n')}\n`
}

const quoted = (name: string, delimiter: string) =>
  name.includes(delimiter) || /["\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name

/** The rows of one table that an import left out, as a CSV file. */
export function sectionFile(
  { header, columns }: RejectedSection,
  rejected: readonly Pick<RejectedRow, 'text'>[],
): string {
  const texts = rejected.map(({ text }) => text)
  const lines = columns
    ? [columns.map((name) => quoted(name, ',')), ...texts.map((text) => copyValues(text).map(csvValue))].map(
        (values) => values.join(','),
      )
    : [...(header ? [header] : []), ...texts]
  return `${lines.join('\n')}\n`
}

/** The values of a row in COPY's text format. A tab after a backslash is part of a value. */
const copyValues = (text: string) =>
  [...text.matchAll(/((?:\\[\s\S]|[^\\\t])*)(?:\t|$)/g)]
    .map(([, value]) => value!)
    .slice(0, countTabs(text) + 1)

const countTabs = (text: string) => text.replace(/\\[\s\S]/g, '').split('\t').length - 1

/** A value of COPY's text format as one of CSV, where NULL is empty and an empty text is quoted. */
function csvValue(value: string): string {
  if (value === '\\N') return ''
  const text = value.replace(/\\(.)/gs, (_whole, letter: string) => escapes[letter] ?? letter)
  return text === '' ? '""' : quoted(text, ',')
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
