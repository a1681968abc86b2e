import { CartageError } from '../../../src/client/cartage-error.ts'
import { browserTransport } from '../../../src/client/http/browser-transport.ts'
import { send } from '../../../src/client/http/send.ts'
import type { HttpResponse } from '../../../src/client/http/transport.ts'
import { atOnce, readChart } from '../../chart/read/read-chart.ts'
import { readPoints, readShapes } from '../../geo/shapes.ts'
import { readStatistics } from '../statistics/tally.ts'
import { readBytes } from './cell-bytes.ts'
import { readCellShape } from './cell-shape.ts'
import { Comparison } from './changes.ts'
import {
  type Compared,
  type CompareKey,
  type FromWorker,
  type ResultOutcome,
  type ResultRow,
  refusedBy,
  type ToWorker,
} from './protocol.ts'
import { StoredRows } from './stored-rows.ts'

/** Fetches one result, holds it, and answers the questions of the page. */

const worker = self as unknown as Readonly<{
  postMessage: (message: FromWorker) => void
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null
}> & { onmessage: (event: MessageEvent<ToWorker>) => void }

/** A safe limit for the memory of a browser tab. */
const maxBytes = 512_000_000
const progressMs = 100
/** Enough for a screen. */
const headRows = 60
const headBytes = 16 * 1024

const stored = new StoredRows()
const stopped = new AbortController()

worker.onmessage = async ({ data }) => {
  if (data.kind === 'stop') stopped.abort()
  else if (data.kind === 'ask')
    worker.postMessage({ kind: 'answer', id: data.id, answer: await answer(data) })
  else if (data.kind === 'feed') feed(data.bytes)
  else if (data.kind === 'fed') endFeed(data.outcome)
  else worker.postMessage({ kind: 'ended', outcome: await run(data), progress: progress() })
}

const progress = () => ({ rows: stored.count, bytes: stored.bytes, columns: stored.columns })

function answer(asked: Extract<ToWorker, { kind: 'ask' }>): unknown {
  switch (asked.question) {
    case 'rows':
      return readRows(asked.from, asked.count)
    case 'whole': {
      const rows = Array.from({ length: asked.bottom - asked.top + 1 }, (_, at) =>
        stored.wholeRow(asked.top + at),
      )
      return rows.map((row) => row.slice(asked.left, asked.right + 1))
    }
    case 'cell':
      return stored.cell(asked.row, asked.column)
    case 'bytes':
      return readBytes(stored.cell(asked.row, asked.column) ?? '')
    case 'shape':
      return readCellShape(stored.cell(asked.row, asked.column) ?? '')
    case 'answer':
      return stored.answer
    case 'sort':
      stored.sort(asked.order)
      return null
    case 'shapes': {
      const { column, colourBy } = asked
      return readShapes(stored.count, (row) => stored.cell(row, column), colourOf(colourBy))
    }
    case 'points': {
      const { x, y, colourBy } = asked
      const read = (row: number) => stored.cells(row, [x, y]) as [string | null, string | null]
      return readPoints(stored.count, read, colourOf(colourBy))
    }
    case 'chart': {
      const rows = {
        count: stored.count,
        row: (at: number, columns: readonly number[]) => stored.cells(at, columns),
      }
      return atOnce(readChart(asked.spec, stored.columns, rows))
    }
    case 'statistics':
      return readStatistics(stored.columns, { count: stored.count, row: (at) => stored.wholeRow(at) })
    case 'compare':
      return compare(asked.before, asked.key)
    case 'changes':
      return comparison?.changes(asked) ?? []
    case 'find':
      return stored.find(asked.text, asked.from)
  }
}

let comparison: Comparison | undefined
let lastCompared = 0

async function compare(before: Blob, key: CompareKey | undefined): Promise<Compared> {
  const mine = ++lastCompared
  const earlier = new StoredRows()
  earlier.add(new Uint8Array(await before.arrayBuffer()))
  earlier.readTail()
  const made = new Comparison(earlier, stored, key)
  // Reading a large answer may take longer than reading a small one chosen after it.
  if (mine === lastCompared) comparison = made
  return made.compared
}

const colourOf = (column: number | null) =>
  column === null ? undefined : (row: number) => stored.cell(row, column)

function readRows(from: number, most: number): readonly ResultRow[] {
  const count = Math.max(0, Math.min(most, stored.count - from))
  return Array.from({ length: count }, (_, at) => stored.row(from + at))
}

async function run(asked: Extract<ToWorker, { kind: 'run' }>): Promise<ResultOutcome> {
  const { serviceUrl, authorization, account, json } = asked
  const connection = {
    baseUrl: serviceUrl,
    authorization: () => authorization,
    transport: browserTransport,
    retries: 0,
    hooks: {},
  }
  try {
    const call = { parameters: { name: account }, json, signal: stopped.signal }
    return await receive(await send(connection, 'query', call))
  } catch (error) {
    if (stopped.signal.aborted) return { kind: 'stopped' }
    if (error instanceof CartageError && error.status !== 0) return refusedBy(error)
    return { kind: stored.bytes > 0 ? 'torn' : 'unreachable' }
  }
}

const news = () => {
  told ??= new News()
  return told
}
let told: News | undefined
let isFull = false

function feed(bytes: Uint8Array): void {
  if (isFull) return
  stored.add(bytes)
  news().tell()
  if (stored.bytes <= maxBytes) return
  isFull = true
  worker.postMessage({ kind: 'ended', outcome: { kind: 'full' }, progress: progress() })
}

function endFeed(outcome: ResultOutcome | undefined): void {
  if (!isFull) worker.postMessage({ kind: 'ended', outcome: outcome ?? readEnd(), progress: progress() })
}

async function receive({ body }: HttpResponse): Promise<ResultOutcome> {
  for await (const value of body) {
    // The first rows are posted before the rest of the first chunk is parsed.
    const parts = news().isHeadTold ? [value] : [value.subarray(0, headBytes), value.subarray(headBytes)]
    for (const part of parts) {
      stored.add(part)
      news().tell()
    }
    if (stored.bytes > maxBytes) return { kind: 'full' }
  }
  return readEnd()
}

function readEnd(): ResultOutcome {
  const { time, total_rows, notices = [], warnings = [] } = stored.readTail()
  return { kind: 'done', seconds: time, totalRows: total_rows, warnings, notices }
}

/** Posts the first rows at once, and the number of rows from time to time. */
class News {
  isHeadTold = false
  #toldAt = 0
  #later: ReturnType<typeof setTimeout> | undefined

  tell(): void {
    const isHead = !this.isHeadTold && stored.count > 0
    const waitMs = isHead ? 0 : this.#toldAt + progressMs - performance.now()
    if (waitMs <= 0) this.#post(isHead)
    // If the database pauses, the rows before the pause are still posted.
    else this.#later ??= setTimeout(() => this.#post(false), waitMs)
  }

  #post(isHead: boolean): void {
    clearTimeout(this.#later)
    this.#later = undefined
    this.#toldAt = performance.now()
    this.isHeadTold ||= isHead
    worker.postMessage({
      kind: 'progress',
      progress: progress(),
      ...(isHead && { head: readRows(0, headRows) }),
    })
  }
}
