import type { Result, ResultSource } from './result.ts'
import type { ResultLook } from './result-look.ts'

/** `source`: the statement, and the key that ran it. */
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
