import type { SqlAnswer } from './documents.ts'
import type { Format } from './formats.ts'

/**
 * The messages of a session over its WebSocket, as JSON texts. The client begins with `open`; then it may send one `query` after
 * the other. A query is answered by `rows`, `notice` and `progress` frames in any number, and one `done` or `error`.
 */
export type OpenMessage = Readonly<{
  type: 'open'
  /** Absent or empty: without a key. */
  token?: string
  /** Needed on the path of an organization; elsewhere it must be the user of the path. */
  username?: string
}>

export type QueryMessage = Readonly<{
  type: 'query'
  /** Chosen by the client: every frame of the answer has it. */
  id: FrameId
  q: string
  params?: readonly unknown[]
  /** Other formats than json come as binary frames instead of `rows`. */
  format?: Format
}>

/** Cancels the running statement; with an id, only if it is that one. */
export type CancelMessage = Readonly<{ type: 'cancel'; id?: FrameId }>

export type SessionMessage = OpenMessage | QueryMessage | CancelMessage

export type FrameId = string | number

/** The state of the session after a statement: `failed` until ROLLBACK. */
export type TransactionState = 'none' | 'open' | 'failed'

export type OpenedFrame = Readonly<{
  type: 'opened'
  username: string
  request_id: string
  /** In milliseconds. */
  limits: SessionLimits
}>

export type SessionLimits = Readonly<{
  statement_ms: number
  idle_ms: number
  transaction_idle_ms: number
  session_ms: number
}>

export type RowsFrame = Readonly<{ type: 'rows'; id: FrameId; rows: readonly unknown[] }>
export type NoticeFrame = Readonly<{ type: 'notice'; id: FrameId; severity: string; message: string }>
/** Every second while a statement runs: how long, and how many rows were sent. */
export type ProgressFrame = Readonly<{ type: 'progress'; id: FrameId; time: number; rows: number }>

/** Everything of an answer of the SQL endpoint but the rows. */
export type DoneFrame = Readonly<{ type: 'done'; id: FrameId; transaction: TransactionState }> &
  Omit<SqlAnswer, 'rows'>

/** An error document. Without an id it is about a message that is no query. */
export type ErrorFrame = Readonly<{
  type: 'error'
  id?: FrameId
  transaction?: TransactionState
}> &
  ErrorMembers

/** The last frame: the session has ended, and its open transaction was rolled back. */
export type LostFrame = Readonly<{ type: 'lost' }> & ErrorMembers

export type ErrorMembers = Readonly<{
  error: readonly string[]
  code: string
  /** As of an answer of the API. */
  status: number
}> &
  Readonly<Record<string, unknown>>

export type SessionFrame =
  | OpenedFrame
  | RowsFrame
  | NoticeFrame
  | ProgressFrame
  | DoneFrame
  | ErrorFrame
  | LostFrame

/** What comes before and after the rows in a frame: they can be passed on without parsing. */
export const rowsStart = (id: FrameId) => `{"type":"rows","id":${JSON.stringify(id)},"rows":[`
export const rowsEnd = ']}'

/** How the service closes the WebSocket. */
export const closeCodes = {
  /** The client's wish, or the answer to it. */
  normal: 1000,
  /** After `lost`. */
  lost: 4000,
  /** After an `error` instead of `opened`. */
  refused: 4001,
} as const

/** Time for the first message. */
export const openWithinMs = 5_000

/** The longest id of a query, as JSON text. */
export const maxFrameIdLength = 64
