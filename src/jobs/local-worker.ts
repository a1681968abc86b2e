import type { ClaimRequest, Claims } from './claim-store.ts'
import type { Job } from './job.ts'

/** The worker inside this process, which needs no notification. */
export type LocalWorker = Readonly<{
  /** Runs the jobs that `send` claims. Without a request if the worker is at its limit. `users`: one for each new job. */
  claimWith: <Answer extends Claims>(
    users: readonly number[],
    send: (request?: ClaimRequest) => Promise<Answer>,
  ) => Promise<Answer>
  /** For a job that the worker runs: the job when it has ended. Undefined if the worker released or lost the job. */
  endOf: (userId: number, jobId: string) => Promise<Job | undefined> | undefined
}>
