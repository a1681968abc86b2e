import type { ComponentChildren } from 'preact'
import type { Result, ResultSource, ServerOrder } from './result.ts'
import type { ResultLook } from './result-look.ts'

/** Of a result with all its views. */
export type ResultViewProps = Readonly<{
  result: Result
  look: ResultLook
  /** The name of the key that ran it. */
  asLabel: string
  /** Buttons beside an error. */
  errorActs?: ComponentChildren
  /** The statement that a download and a map of many rows run again. Undefined if its key is not known. */
  source: ResultSource | undefined
  /** For a stored result: when it was started, and how long it took. */
  former?: Readonly<{ at: number; ms: number }> | undefined
  /** Of the same statement, the last one first. */
  earlier?: readonly EarlierResult[] | undefined
  /** Buttons beside the value of a cell. */
  cellActs?: ComponentChildren
  /** Replaces the search in the browser's rows. */
  find?: ComponentChildren
  /** Runs the statement again with this order. */
  sortOnServer?: ((order: ServerOrder) => void) | undefined
}>

/** Of one view. `source`: the statement, and the key that ran it. */
export type ViewProps = Readonly<{
  result: Result
  look: ResultLook
  source: ResultSource | undefined
  earlier?: readonly EarlierResult[] | undefined
}>

/** The result of an earlier run of the same statement. */
export type EarlierResult = Readonly<{
  id: number
  /** Its number, age, rows and key. */
  name: string
  rows: number
  bytes: number
  readAnswer: () => Promise<Blob>
}>
