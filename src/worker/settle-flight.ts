import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import type { ClaimedJob } from '../jobs/claim-store.ts'
import type { Flight } from '../jobs/job-store.ts'
import { type FlightOutcome, settleFlight } from '../jobs/statement-outcome.ts'
import type { WorkContext } from './work-context.ts'

/** The outcome of a statement, however long its backend takes to end; undefined if its host does not answer now. */
export async function settleUntilKnown(
  { databases, health, interrupted, log }: WorkContext,
  { target, job }: ClaimedJob,
  flight: Flight,
): Promise<FlightOutcome | undefined> {
  const { hostId } = target
  for (;;) {
    try {
      return await settleFlight(databases, hostId, job.id, flight)
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
