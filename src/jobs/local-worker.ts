import type { ClaimRequest, Claims } from './claim-store.ts'
import type { Job } from './job.ts'

/** The worker inside this process, which needs no notification. */
export type LocalWorker = Readonly<{
  /** Runs the jobs that `send` claims. There is no request if the worker has its hands full. `users`: of each new job. */
  claimWith: <Answer extends Claims>(
    users: readonly number[],
    send: (request?: ClaimRequest) => Promise<Answer>,
  ) => Promise<Answer>
  /**
   * Of a job that the worker has in its hands: the job when it has ended, and is final. Nothing: the worker has parted
   * from it in another way.
   */
  endOf: (userId: number, jobId: string) => Promise<Job | undefined> | undefined
}>
