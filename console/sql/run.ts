import type { Feed, Result, ServerOrder } from '../result/result.ts'
import type { ResultLook } from '../result/result-look.ts'
import type { BoundRange } from './parameters/given-values.ts'
import type { RunAs } from './run-as.ts'

/** The statements of one press of Run. They run one after another. */
export type Batch = { readonly isInSession: boolean; isStopped: boolean }

/** One statement that was run, with its result. */
export type Run = Readonly<{
  id: number
  /** Its first words, for people. */
  name: string
  text: string
  /** What is sent instead, if it has parameters. */
  bound?: BoundRange['bound']
  /** The draft it came from, to mark an error there. */
  draftId: string
  from: number
  as: RunAs
  result: Result
  look: ResultLook
  batch: Batch
  /** When it was started, by the clock of the service. */
  at: number
  /** For a result stored by this browser: how long it took then. Its key may be gone. */
  formerMs?: number | undefined
  /** A plan is shown as a table of its nodes. */
  isPlan: boolean
  /** Makes PostgreSQL refuse more than one statement. */
  isSingle?: boolean | undefined
  /** The order requested from the service. */
  order?: ServerOrder | undefined
  /** Where it runs, if not at the SQL endpoint. */
  feed?: Feed | undefined
}>

export type ToRun = Readonly<{
  draftId: string
  statements: readonly BoundRange[]
  as: RunAs
  /** Runs the statements elsewhere. */
  feed?: Feed
  /** Instead of the first words of the statement. */
  name?: string
  isPlan?: boolean
  isSingle?: boolean
  order?: ServerOrder
}>
