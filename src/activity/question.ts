import type { ActivityKind, ActivityWait } from '../contract/admin-names.ts'
import { beginningOf } from '../contract/text/format.ts'

/** What every process is asked. */
export type ActivityQuestion =
  | Readonly<{ ask: 'list'; username: string | null; isFull: boolean; limit: number }>
  | Readonly<{ ask: 'stop'; id: string }>
  | Readonly<{ ask: 'stop-all'; username: string }>

/** A statement, as its process tells it. */
export type ActiveStatement = Readonly<{
  id: string
  username: string
  key: string | null
  kind: ActivityKind
  runMs: number
  /** Null: PostgreSQL works. */
  waitsFor: ActivityWait | null
  /** PostgreSQL's own word, such as `Lock: relation`. */
  waitEvent: string | null
  hostId: number
  /** The pid of the backend; null without a connection. */
  pid: number | null
  /** The backends that hold it up. */
  blockedBy: readonly Blocker[]
  /** Null for a statement of the service itself. */
  text: string | null
  isCut: boolean
}>

export type Blocker = Readonly<{ pid: number; role: string | null }>

/** What was stopped. */
export type Stopped = Readonly<Pick<ActiveStatement, 'id' | 'username' | 'key' | 'kind'>> &
  Readonly<{
    /** False: it was stopped, but has not ended yet. */
    hasEnded: boolean
  }>

/** `left`: how many statements are beyond the limit. */
export type ActivityAnswer = Readonly<{
  statements: readonly ActiveStatement[]
  left: number
  stopped: readonly Stopped[]
}>

/** By the name of the process, with which the ids of its statements begin. */
export type ProcessAnswer = ActivityAnswer & Readonly<{ process: string }>

/** Cuts a text, never inside a character. */
export function cutText(text: string, most: number): Readonly<{ text: string; isCut: boolean }> {
  return text.length <= most ? { text, isCut: false } : { text: beginningOf(text, most), isCut: true }
}
