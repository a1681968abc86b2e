import { type AppError, errors } from '../errors.ts'

/** A time limit, and what sets it: a variable, or the limits of the account. */
export type TimeLimit = Readonly<{ ms: number; source: string }>

export type TimeLimits = Readonly<{
  /** From the start to the end, whether PostgreSQL or the client is slow. */
  whole: TimeLimit
  /** Until the first row, and from one row to the next, while PostgreSQL works. */
  silence?: TimeLimit
}>

/** Measures how long we wait for the client, not how long the client waits for us. */
export type ClientWait = Readonly<{
  /** `onTooLong` is called if the client does nothing for too long. */
  begin: (onTooLong: (idleMs: number) => void) => void
  end: () => void
}>

export const wholeTimeout = ({ ms, source }: TimeLimit): AppError =>
  errors.statementTimeout(`${inWords(ms)} for the whole statement (${source})`)

export const silenceTimeout = ({ ms, source }: TimeLimit): AppError =>
  errors.statementTimeout(`${inWords(ms)} without a row (${source})`)

function inWords(ms: number): string {
  const [unit, length] = units.find(([, unitMs]) => ms % unitMs === 0)!
  return `${ms / length} ${unit}`
}

const units = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const
