import { setTimeout as sleep } from 'node:timers/promises'

/** Whether a promise settles within the time, fulfilled or rejected. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const waiting = new AbortController()
  const settled = promise.then(
    () => true,
    () => true,
  )
  const late = sleep(ms, false, { signal: waiting.signal }).catch(() => false)
  try {
    return await Promise.race([settled, late])
  } finally {
    waiting.abort()
  }
}
