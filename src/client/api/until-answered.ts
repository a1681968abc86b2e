import type { JobDocument } from '../../contract/documents.ts'
import { isPassing, pause, waitBeforeReconnect } from '../http/retry.ts'
import { JobNotFollowedError } from '../job-errors.ts'

export type Waiting = Readonly<{ signal?: AbortSignal | undefined }>
export type Following = Waiting &
  Readonly<{
    onChange?: ((job: JobDocument) => void) | undefined
    /** The service does not answer, or refuses for the moment: the job goes on, and it is asked for again. Called once per loss. */
    onLost?: ((error: unknown) => void) | undefined
    /** How long to ask a service that does not answer. Without it, until it does. */
    giveUpAfterMs?: number | undefined
  }>

/** Asks again while the service does not answer. What it refuses for good is thrown. */
export async function untilAnswered<T>(
  jobId: string,
  ask: () => Promise<T>,
  { signal, onLost, giveUpAfterMs = Number.POSITIVE_INFINITY }: Omit<Following, 'onChange'>,
): Promise<T> {
  let lostAt: number | undefined
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      signal?.throwIfAborted()
      if (!isPassing(error)) throw error
      if (lostAt === undefined) onLost?.(error)
      lostAt ??= performance.now()
      const waitMs = waitBeforeReconnect(error, attempt)
      const leftMs = giveUpAfterMs - (performance.now() - lostAt)
      if (leftMs <= 0) throw new JobNotFollowedError(jobId, error)
      await pause(Math.min(waitMs, leftMs), signal)
    }
  }
}
