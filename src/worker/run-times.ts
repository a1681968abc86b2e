import type { Pool } from 'pg'
import { addRunTimes, type RunTime } from '../jobs/progress/run-time-store.ts'
import { fingerprintOf, longestParsed } from '../sql/fingerprint.ts'
import { nextTurn } from '../waiting/next-turn.ts'

type TimedRun = Readonly<{ userId: number; statement: string; durationMs: number }>

/**
 * Records how long statements took, once a second and in the background: jobs do not wait for it. If this process dies,
 * or more statements end than are counted in a second, some runs are missing.
 */
export class RunTimes {
  readonly #control: Pool
  #runs: TimedRun[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(control: Pool) {
    this.#control = control
  }

  note(run: TimedRun): void {
    if (this.#runs.length === mostRuns || isOneOfMany(run)) return
    this.#runs.push(run)
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref()
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const runs = this.#runs
    this.#runs = []
    const known: RunTime[] = []
    for (const [index, { userId, statement, durationMs }] of runs.entries()) {
      // Some milliseconds of work.
      if (index % 10 === 9) await nextTurn()
      const fingerprint = fingerprintOf(statement)
      if (fingerprint !== undefined) known.push({ userId, fingerprint, durationMs })
    }
    if (known.length > 0) await addRunTimes(this.#control, known).catch(() => undefined)
  }
}

/**
 * Such as an INSERT with its values: its text comes only once, and would replace the times of statements that come each
 * night. Nobody asks when it will be done.
 */
const isOneOfMany = ({ statement, durationMs }: TimedRun) =>
  statement.length > longestParsed && durationMs < 1_000

const flushMs = 1_000
const mostRuns = 1_000
