import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log/log.ts'
import { isBusy, isOvertaken } from '../postgres/sqlstate.ts'

/**
 * Retries in the background what failed because of a lock or a concurrent change. If this process ends first, repair
 * does it.
 */
export async function untilFree(
  { log, role }: Readonly<{ log: Log; role: string }>,
  work: () => Promise<unknown>,
): Promise<void> {
  for (let waitMs = 500; waitMs <= longestWaitMs; waitMs *= 2) {
    await sleep(waitMs, undefined, { ref: false })
    try {
      await work()
      return
    } catch (error) {
      if (isBusy(error) || isOvertaken(error)) continue
      log.warn({ err: error, role }, 'a change to the role of a key failed: it is left to repair')
      return
    }
  }
}

const longestWaitMs = 128_000
