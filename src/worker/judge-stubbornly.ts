import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import type { Flight } from '../jobs/job-store.ts'
import { judgeFlight, type Verdict } from '../jobs/judge-flight.ts'
import type { WorkContext } from './work-context.ts'

/** The verdict, however long the backend takes to end; none if its host cannot be asked now. */
export async function judgeStubbornly(
  { databases, health, interrupted, log }: WorkContext,
  hostId: number,
  flight: Flight,
): Promise<Verdict | undefined> {
  for (;;) {
    try {
      return await judgeFlight(databases, hostId, flight)
    } catch (error) {
      const isStuck = error instanceof AppError && error.code === 'statement-not-stopped'
      if (!isStuck) health.failed(hostId, error)
      if (!isStuck || interrupted.aborted) return undefined
      log.warn({ hostId, pid: flight.pid }, 'a backend does not end')
      await sleep(stuckPauseMs)
    }
  }
}

const stuckPauseMs = 1_000
