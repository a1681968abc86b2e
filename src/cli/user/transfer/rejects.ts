import type { RejectedRow } from '../../../contract/documents.ts'
import { formatCount, plural } from '../../../contract/text/format.ts'
import { headerOf, type ImportFile } from '../../../file-import/import-file.ts'
import { textOf } from '../../option-values.ts'
import type { UserCall } from '../command.ts'
import { writeAll, writeWhole } from '../whole-file.ts'

/** Tells which rows were left out and why, and saves them if that was asked for. */
export async function tellRejects(
  { terminal, values }: UserCall,
  file: ImportFile,
  count: number,
  rejected: readonly RejectedRow[],
): Promise<void> {
  if (count === 0) return
  terminal.say(`${plural(count, 'row')} left out:`)
  for (const { line, column, error } of rejected.slice(0, mostShown))
    terminal.say(`  line ${formatCount(line)}${column === null ? '' : `, ${column}`}: ${error}`)
  if (count > mostShown) terminal.say(`  and ${formatCount(count - mostShown)} more`)
  const path = textOf(values, 'rejects')
  if (path === undefined) return
  await writeWhole(path, (target) => writeAll(linesOf(file, rejected), target))
  terminal.say(`saved in ${path}: mend them there and import the file`)
}

const mostShown = 10

/** A file like the one that was sent: with its header, in UTF-8. */
async function* linesOf(file: ImportFile, rejected: readonly RejectedRow[]): AsyncGenerator<string> {
  const { hasHeader, delimiter, isCopyText } = file.dialect
  const names = headerOf(file).map((name) => name ?? '')
  if (hasHeader)
    yield `${names.map((name) => (isCopyText ? name : quoted(name, delimiter))).join(delimiter)}\n`
  for (const { text } of rejected) yield `${text}\n`
}

const quoted = (name: string, delimiter: string) =>
  name.includes(delimiter) || /["\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name
