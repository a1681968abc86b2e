import { stringifyExact } from '../../../client/exact-json.ts'
import { membersOf } from '../../../client/json-rows.ts'
import type { UserCall } from '../command.ts'
import { cellsOf, loadWidths } from './cell.ts'
import { recordText } from './record.ts'
import { showText } from './show.ts'
import { tableText } from './table.ts'

/** A list that a command has made: a table on a terminal, NDJSON in a pipe, one document with --json. */
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

/** One thing: a line for each of its members on a terminal, one JSON document elsewhere. */
export async function printRecord(
  { terminal: { out }, values }: UserCall,
  record: Readonly<Record<string, unknown>>,
): Promise<void> {
  await loadWidths()
  const text = stringifyExact(record)
  const isForPeople = out.isTerminal && !values.json
  // The text for people is harmless already, and may have colours.
  if (isForPeople) out.stream.write(recordText(cellsOf(membersOf(text)), undefined, out.style))
  else out.write(`${text}\n`)
}
