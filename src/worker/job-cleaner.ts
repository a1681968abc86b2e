import { forgetArrivals } from '../accounts/arrived-request-store.ts'
import { cleanMarks } from '../jobs/mark-store.ts'
import { cleanRunTimes } from '../jobs/progress/run-time-store.ts'
import { cleanJobs } from '../jobs/queue-store.ts'
import { firstHostId } from '../postgres/hosts.ts'
import { cleanRuns } from '../schedules/schedule-store.ts'
import { cleanInSteps } from '../waiting/clean-in-steps.ts'
import { Repeated } from '../waiting/repeated.ts'
import type { HostHealth } from './host-health.ts'
import type { WorkerOptions } from './work-context.ts'

/** Removes jobs, runs of schedules, flight marks and idempotency keys past their retention. */
export const jobCleaner = (options: WorkerOptions, health: HostHealth): Repeated =>
  new Repeated(
    (isStopped) => clean(options, health, isStopped),
    cleanMs,
    (error) => options.log.warn({ err: error }, 'cannot remove old jobs'),
  )

async function clean(
  { config, databases }: WorkerOptions,
  health: HostHealth,
  isStopped: () => boolean,
): Promise<void> {
  const { control } = databases
  const days = config.jobRetentionDays
  await cleanInSteps(() => cleanJobs(control, days), isStopped)
  await cleanInSteps(() => cleanRuns(control, days), isStopped)
  await cleanInSteps(() => cleanRunTimes(control, days), isStopped)
  await cleanInSteps(() => forgetArrivals(control, config.copyTimeoutMs, sentAgainMs), isStopped)
  // Marks are kept longer than their jobs: a restored control database may still list a job that had ended.
  const hosts = health.openHosts().filter((id) => id !== firstHostId)
  for (const id of hosts) await cleanMarks(databases, id, days + marksStayDays)
}

const cleanMs = 60_000
/** A client retries soon after its connection broke, which may be at the end of the longest copy. */
const sentAgainMs = 3_600_000
const marksStayDays = 7
