import type { Writable } from 'node:stream'
import type { RowStream } from '../../../client/api/row-stream.ts'
import type { SqlValue, Statement } from '../../../client/api/sql-statement.ts'
import type { Format } from '../../../contract/formats.ts'
import { formatCount, formatDuration, plural } from '../../../contract/text/format.ts'
import { visibleTexts } from '../../printable.ts'
import type { UserCall } from '../command.ts'
import { at, type StatementPlace } from '../explain.ts'
import { isServed, type OutputFormat, rowsText } from '../output/formats.ts'
import { showText } from '../output/show.ts'
import { tsvOfCsv } from '../output/tsv.ts'
import { showProgress } from '../progress.ts'
import { passOn } from '../whole-file.ts'

/** What runs a statement: the SQL endpoint, or a session. */
export type StatementRunner = Readonly<{
  client: Readonly<{
    download: (
      sql: Statement,
      options: Readonly<{ format: Format; signal: AbortSignal }>,
    ) => Promise<AsyncIterable<Uint8Array>>
    rows: (sql: Statement, options: Readonly<{ signal: AbortSignal }>) => RowStream
  }>
  signal: AbortSignal
}>

/** Where rows are written, and in which format. */
export type Output = Readonly<{ format: OutputFormat; target: Writable }>

/** Runs one text and streams its rows. Notices, warnings and the number of rows follow on stderr. */
export function runStatement(
  call: UserCall,
  runner: StatementRunner,
  place: Omit<StatementPlace, 'startedAt'> & Readonly<{ params?: readonly SqlValue[] }>,
  output: Output,
): Promise<void> {
  const { format } = output
  const { statement, params } = place
  const sql = params ? { text: statement, params } : statement
  return at(place, () =>
    isServed(format) || format === 'tsv'
      ? passRows(call, runner, sql, { ...output, format })
      : showRows(call, runner, sql, { ...output, format }),
  )
}

async function passRows(
  { terminal }: UserCall,
  { client, signal }: StatementRunner,
  statement: Statement,
  { format, target }: Output & { format: Format | 'tsv' },
): Promise<void> {
  const startedAt = performance.now()
  const isWatched = (terminal.err.isTerminal || format === 'tsv') && !terminal.isQuiet
  const counter = new LineCounter(format, isWatched)
  const taken = () => formatDuration(performance.now() - startedAt)
  const stop = showProgress(terminal, () => `${counter.describe()}  ${taken()}`)
  // Rows on the same terminal replace the progress line.
  const onFirst = target === process.stdout && terminal.out.isTerminal ? stop : () => undefined
  try {
    const bytes = await client.download(statement, { format: format === 'tsv' ? 'csv' : format, signal })
    const rows = format === 'tsv' ? tsvOfCsv(bytes, () => counter.addRow()) : bytes
    await passOn(endedLine(rows, counter, onFirst), target)
  } finally {
    stop()
  }
  if (isWatched) terminal.say(`${counter.describe()}, ${taken()}`)
}

/** Adds a line end after the last byte if there is none. */
async function* endedLine(bytes: AsyncIterable<Uint8Array>, counter: LineCounter, onFirst: () => void) {
  let last = lineEnd
  for await (const chunk of bytes) {
    onFirst()
    counter.take(chunk)
    last = chunk.at(-1) ?? last
    yield chunk
  }
  if (last !== lineEnd) yield '\n'
}

const lineEnd = 10

/** Counts rows of NDJSON, which are lines, and of TSV; of other formats it counts bytes. */
class LineCounter {
  readonly #format: Format | 'tsv'
  readonly #isOn: boolean
  #lines = 0
  #bytes = 0

  constructor(format: Format | 'tsv', isOn: boolean) {
    this.#format = format
    this.#isOn = isOn
  }

  addRow(): void {
    this.#lines++
  }

  take(chunk: Uint8Array): void {
    if (!this.#isOn) return
    this.#bytes += chunk.length
    if (this.#format !== 'ndjson') return
    for (let at = chunk.indexOf(lineEnd); at >= 0; at = chunk.indexOf(lineEnd, at + 1)) this.#lines++
  }

  describe(): string {
    return this.#format === 'ndjson' || this.#format === 'tsv'
      ? plural(this.#lines, 'row')
      : `${formatCount(this.#bytes)} bytes`
  }
}

async function showRows(
  { terminal }: UserCall,
  { client, signal }: StatementRunner,
  statement: Statement,
  { format, target }: Output & { format: Exclude<OutputFormat, Format | 'tsv'> },
): Promise<void> {
  const startedAt = performance.now()
  const rows = client.rows(statement, { signal })
  let count = 0
  const taken = () => formatDuration(performance.now() - startedAt)
  const stop = showProgress(terminal, () => `${plural(count, 'row')}  ${taken()}`)
  const counted = async function* () {
    for await (const texts of rows.texts()) {
      count += texts.length
      yield texts
    }
  }
  const isOnTerminal = target === process.stdout && terminal.out.isTerminal
  const look = {
    columns: isOnTerminal ? terminal.out.columns : Number.POSITIVE_INFINITY,
    style: isOnTerminal ? terminal.out.style : (_style: string, text: string) => text,
    onRecords: () => terminal.say('too wide for a table on this terminal: shown row by row'),
  }
  try {
    const text = rowsText(format, { texts: counted(), fields: () => rows.summary?.fields ?? {} }, look)
    const isForPeople = format === 'table' || format === 'line'
    const shown = isForPeople ? text : visibleTexts(text)
    await (isOnTerminal ? showText(stopAtFirst(shown, stop), terminal) : passOn(text, target))
  } finally {
    stop()
  }
  // Undefined if the person left the pager early.
  if (!rows.summary) return
  const { fields, time, total_rows, notices = [], warnings = [] } = rows.summary
  for (const text of notices) terminal.say(`notice: ${text}`)
  for (const text of warnings) terminal.say(`warning: ${text}`)
  const hasRows = Object.keys(fields).length > 0 || total_rows > 0
  terminal.say(`${hasRows ? plural(count || total_rows, 'row') : 'done'}, ${formatDuration(time * 1000)}`)
}

async function* stopAtFirst(texts: AsyncIterable<string>, stop: () => void) {
  for await (const text of texts) {
    stop()
    yield text
  }
}
