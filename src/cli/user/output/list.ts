import { stringifyExact } from '../../../client/exact-json.ts'
import { membersOf } from '../../../contract/text/json-rows.ts'
import type { UserCall } from '../command.ts'
import { cellsOf, loadWidths } from './cell.ts'
import { recordText } from './record.ts'
import { showText } from './show.ts'
import { tableText } from './table.ts'

/** Prints a list: a table on a terminal, NDJSON in a pipe or file, one document with --json. */
export async function printList(
  { terminal, values }: UserCall,
  rows: readonly Readonly<Record<string, unknown>>[],
  ifEmpty: string,
  whole: readonly string[] = [],
): Promise<void> {
  const texts = rows.map(stringifyExact)
  const { out } = terminal
  if (values.json) out.write(`[${texts.join(',')}]\n`)
  else if (!out.isTerminal) out.write(texts.map((text) => `${text}\n`).join(''))
  else if (rows.length === 0) terminal.say(ifEmpty)
  else {
    const source = (async function* () {
      yield texts
    })()
    const look = { columns: out.columns, style: out.style, whole, onRecords: () => undefined }
    await showText(tableText({ texts: source, fields: () => ({}) }, look), terminal)
  }
}

/** Prints one record: a line for each member on a terminal, one JSON document elsewhere. */
export async function printRecord(
  { terminal: { out }, values }: UserCall,
  record: Readonly<Record<string, unknown>>,
): Promise<void> {
  await loadWidths()
  const text = stringifyExact(record)
  const isForPeople = out.isTerminal && !values.json
  // recordText has escaped control characters already, and may add colours.
  if (isForPeople) out.stream.write(recordText(cellsOf(membersOf(text)), undefined, out.style))
  else out.write(`${text}\n`)
}
