import { setTimeout as sleep } from 'node:timers/promises'

export type PollOptions = Readonly<{ everyMs: number; timeoutMs: number }>

/** Asks until `check` answers, and at least once. Undefined: it had no answer in time. */
export async function poll<T>(
  check: () => Promise<T | undefined>,
  { everyMs, timeoutMs }: PollOptions,
): Promise<T | undefined> {
  for (const deadline = performance.now() + timeoutMs; ; ) {
    const answer = await check()
    if (answer !== undefined || performance.now() > deadline) return answer
    await sleep(everyMs)
  }
}
