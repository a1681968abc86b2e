import type { RejectedRow } from '../../../contract/documents.ts'
import { formatCount, plural } from '../../../contract/text/format.ts'
import type { ImportFile } from '../../../file-import/import-file.ts'
import { rejectsFile } from '../../../file-import/rejects-file.ts'
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
  await writeWhole(path, (target) => writeAll([rejectsFile(file, rejected)], target))
  terminal.say(`saved in ${path}: repair them there and import the file`)
}

const mostShown = 10
