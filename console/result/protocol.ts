import type { Shapes } from '../geo/shapes.ts'

/** What the page and the worker of a result say to each other. */

export type Column = Readonly<{ name: string; type: string; pgtype: string | undefined }>

/** As people read it; null is NULL. In the order of the columns. */
export type Row = readonly (string | null)[]

export type Order = Readonly<{ column: number; isDescending: boolean }>

/** How it ended. `full`: the browser should not hold more. The rows that came stay. */
export type Outcome =
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
      status: number
      headers: readonly (readonly [string, string])[]
      text: string
    }>

export type Progress = Readonly<{ rows: number; bytes: number; columns: readonly Column[] }>

/** Questions to a worker that has rows, each with its answer. */
export type Questions = {
  rows: { ask: Readonly<{ from: number; count: number }>; answer: readonly Row[] }
  /** The same with every value whole, for some of the columns. */
  whole: {
    ask: Readonly<{ top: number; bottom: number; left: number; right: number }>
    answer: readonly Row[]
  }
  /** The whole value of one cell. */
  cell: { ask: Readonly<{ row: number; column: number }>; answer: string | null }
  sort: { ask: Readonly<{ order: Order | null }>; answer: null }
  /** The next row that has the text, from a row on and once around. */
  find: {
    ask: Readonly<{ text: string; from: number }>
    answer: Readonly<{ row: number; column: number }> | null
  }
  /** The geometries of a column, to be drawn; the value of another column colours them. */
  shapes: { ask: Readonly<{ column: number; colourBy: number | null }>; answer: Shapes }
  /** The values of columns as numbers, thinned to a number of points; NaN where there is none. */
  numbers: { ask: Readonly<{ columns: readonly number[]; most: number }>; answer: NumberColumns }
}
export type NumberColumns = Readonly<{ columns: readonly Float64Array[]; step: number }>
export type Question = keyof Questions

export type ToWorker =
  | Readonly<{ kind: 'run'; url: string; headers: Readonly<Record<string, string>>; body: string }>
  | Readonly<{ kind: 'stop' }>
  | { [Q in Question]: Readonly<{ kind: 'ask'; id: number; question: Q } & Questions[Q]['ask']> }[Question]

export type FromWorker =
  /** The first with rows brings the first of them along: they are shown without being asked for. */
  | Readonly<{ kind: 'progress'; progress: Progress; head?: readonly Row[] }>
  | Readonly<{ kind: 'ended'; progress: Progress; outcome: Outcome }>
  | Readonly<{ kind: 'answer'; id: number; answer: unknown }>
