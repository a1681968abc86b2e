import type { Log } from '../log/log.ts'
import type { Databases } from '../postgres/databases.ts'
import { cleanInSteps } from '../waiting/clean-in-steps.ts'
import { Repeated } from '../waiting/repeated.ts'
import { cleanHistory } from './history-store.ts'

/** Deletes the statements in the history that are past their time: all if none are kept. */
export const keepHistory = ({ control }: Databases, days: number, log: Log): Repeated =>
  new Repeated(
    (isStopped) => cleanInSteps(() => cleanHistory(control, days), isStopped),
    cleanMs,
    (error) => log.warn({ err: error }, 'cannot remove old statements from the history'),
  )

const cleanMs = 600_000
