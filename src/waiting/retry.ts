import { setTimeout as sleep } from 'node:timers/promises'

export type RetryOptions = Readonly<{
  /** Tries in all. Without it, `work` is tried until it succeeds. */
  attempts?: number
  /** Whether another try makes sense after this error. */
  isTransient?: (error: unknown) => boolean
  /** The pause after the given try, counted from 1. */
  pauseMs?: (attempt: number) => number
  onRetry?: (error: unknown, pauseMs: number) => void
  /** Ends the tries with its reason. */
  signal?: AbortSignal
}>

/** Runs `work` again after a transient error. Throws its last error when the tries are used up. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts = Number.POSITIVE_INFINITY, isTransient, pauseMs, onRetry, signal } = options
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      if (attempt >= attempts || isTransient?.(error) === false) throw error
      const ms = pauseMs?.(attempt) ?? 0
      onRetry?.(error, ms)
      if (ms > 0) await sleep(ms, undefined, signal && { signal })
    }
  }
}

/** Pauses that double from the first to the longest. */
export const backoff = (firstMs: number, longestMs: number) => (attempt: number) =>
  Math.min(firstMs * 2 ** (attempt - 1), longestMs)
