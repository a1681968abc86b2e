export const jobStatuses = ['pending', 'running', 'done', 'failed', 'cancelled', 'unknown'] as const
export type JobStatus = (typeof jobStatuses)[number]

/** Nothing of the job runs any more, and nothing changes its status. */
export type FinalStatus = Exclude<JobStatus, 'pending' | 'running'>

export function isFinal(status: JobStatus): status is FinalStatus {
  return status !== 'pending' && status !== 'running'
}

/** The states of an item, or of the fallback of an item or job. */
export const stepStatuses = ['pending', 'running', 'done', 'failed', 'skipped', 'unknown'] as const
export type StepStatus = (typeof stepStatuses)[number]
