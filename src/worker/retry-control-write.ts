import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkContext } from './work-context.ts'

/** Repeats a write to the control database until it is answered: it may be away for a while, the job is not. */
export async function retryControlWrite<T>(
  { log, abandoned }: WorkContext,
  write: () => Promise<T>,
): Promise<T> {
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    abandoned.throwIfAborted()
    try {
      return await write()
    } catch (error) {
      log.warn({ err: error, pauseMs }, 'the control database did not take a write')
      await sleep(pauseMs, undefined, { signal: abandoned })
    }
  }
}

const longestPauseMs = 1_000
