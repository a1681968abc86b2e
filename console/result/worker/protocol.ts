import type { CartageError, ErrorFacts } from '../../../src/client/cartage-error.ts'
import type { ChartDefinition } from '../../../src/contract/charts.ts'
import type { ChartData, ChartProblem } from '../../chart/read/chart-data.ts'
import type { Shapes } from '../../geo/shapes.ts'
import type { ResultStatistics } from '../statistics/column-statistics.ts'
import type { CellBytes } from './cell-bytes.ts'
import type { CellShape } from './cell-shape.ts'

/** The messages between the page and the worker of a result. */

export type ResultColumn = Readonly<{ name: string; type: string; pgtype: string | undefined }>

/** The values as text, in the order of the columns; null is NULL. */
export type ResultRow = readonly (string | null)[]

export type ResultOrder = Readonly<{ column: number; isDescending: boolean }>

/** How a result ended. `full`: it reached the memory limit. The rows that arrived stay. */
export type ResultOutcome =
  | Readonly<{
      kind: 'done'
      seconds: number
      totalRows: number
      warnings: readonly string[]
      notices: readonly string[]
    }>
  | Readonly<{ kind: 'stopped' | 'full' | 'torn' | 'unreachable' }>
  | Readonly<{
      kind: 'refused'
      message: string
      facts: ErrorFacts
    }>

export type ResultProgress = Readonly<{ rows: number; bytes: number; columns: readonly ResultColumn[] }>

/** Questions to the worker, each with its answer. */
export type Questions = {
  rows: { ask: Readonly<{ from: number; count: number }>; answer: readonly ResultRow[] }
  /** Rows with full values of some columns. */
  whole: {
    ask: Readonly<{ top: number; bottom: number; left: number; right: number }>
    answer: readonly ResultRow[]
  }
  /** The full value of one cell. */
  cell: { ask: Readonly<{ row: number; column: number }>; answer: string | null }
  /** The bytes of a cell with bytea or a data: URL; null for any other value. */
  bytes: { ask: Readonly<{ row: number; column: number }>; answer: CellBytes | null }
  /** The geometry of a cell with EWKB; null for any other value. */
  shape: { ask: Readonly<{ row: number; column: number }>; answer: CellShape | null }
  /** The answer as it arrived. */
  answer: { ask: Readonly<Record<never, never>>; answer: Blob }
  sort: { ask: Readonly<{ order: ResultOrder | null }>; answer: null }
  /** The next cell that contains the text, from a row on, wrapping around. */
  find: {
    ask: Readonly<{ text: string; from: number }>
    answer: Readonly<{ row: number; column: number }> | null
  }
  /** The geometries of a column, with the values of another column that gives their colour. */
  shapes: { ask: Readonly<{ column: number; colourBy: number | null }>; answer: Shapes }
  /** Points from two number columns, as longitude and latitude. */
  points: { ask: Readonly<{ x: number; y: number; colourBy: number | null }>; answer: Shapes }
  /** The data of a chart of all rows. */
  chart: { ask: Readonly<{ spec: ChartDefinition }>; answer: ChartData | ChartProblem }
  /** Of all columns, over all rows. */
  statistics: { ask: Readonly<Record<never, never>>; answer: ResultStatistics }
  /**
   * Compares the rows of an earlier answer with those of this one. `key`: a column; null for whole rows, undefined for
   * the best column.
   */
  compare: { ask: Readonly<{ before: Blob; key: CompareKey | undefined }>; answer: Compared }
  /** Of the last comparison. */
  changes: { ask: WantedRowChanges; answer: readonly RowChange[] }
}

/** Larger results are not compared. */
export const mostCompared = 200_000
export const mostComparedBytes = 64_000_000
export const changeKinds = ['changed', 'added', 'gone'] as const
export type ChangeKind = (typeof changeKinds)[number]
/** The index of a column; null for whole rows. */
export type CompareKey = number | null
export type Compared = Readonly<{
  key: CompareKey
  /** The columns that both answers have. */
  keys: readonly number[]
  counts: Readonly<Record<ChangeKind, number>>
  same: number
  /** Rows whose key an earlier row of the same answer has. */
  repeated: Readonly<{ before: number; now: number }>
  columnsGone: readonly string[]
  columnsAdded: readonly string[]
}>
export type WantedRowChanges = Readonly<{ which: ChangeKind | 'all'; from: number; count: number }>
/** Values are cut as in the grid. `key` is undefined if whole rows are compared. */
export type RowChange = Readonly<{
  kind: ChangeKind
  key: string | null | undefined
  cells: readonly Readonly<{
    name: string
    before: string | null | undefined
    now: string | null | undefined
  }>[]
  cellsLeftOut: number
}>
export type Question = keyof Questions

export type ToWorker =
  | Readonly<{
      kind: 'run'
      serviceUrl: string
      authorization: string | undefined
      account: string
      json: Readonly<{ q: string }>
    }>
  /** Bytes of an answer that comes over a session. */
  | Readonly<{ kind: 'feed'; bytes: Uint8Array }>
  /** The end of such an answer; without an outcome it is complete. */
  | Readonly<{ kind: 'fed'; outcome?: ResultOutcome }>
  | Readonly<{ kind: 'stop' }>
  | { [Q in Question]: Readonly<{ kind: 'ask'; id: number; question: Q } & Questions[Q]['ask']> }[Question]

export type FromWorker =
  /** The first message with rows includes the first rows, so that they need not be asked for. */
  | Readonly<{ kind: 'progress'; progress: ResultProgress; head?: readonly ResultRow[] }>
  | Readonly<{ kind: 'ended'; progress: ResultProgress; outcome: ResultOutcome }>
  | Readonly<{ kind: 'answer'; id: number; answer: unknown }>

/** An error as it goes from the worker to the page. */
export const refusedBy = (error: CartageError): ResultOutcome => {
  const { message, status, body, requestId, retryAfterSeconds } = error
  return { kind: 'refused', message, facts: { status, body, requestId, retryAfterSeconds } }
}
