import type { RejectedRow } from '../contract/documents.ts'
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
