import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'
import { isBusy, isOvertaken } from '../postgres/sqlstate.ts'

/** Repeats in the background what failed because somebody holds or changes what it needs. What outlives this process is left to repair. */
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
      log.warn({ err: error, role }, 'the role of a key is left to repair')
      return
    }
  }
}

const longestWaitMs = 128_000
