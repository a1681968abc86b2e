/** Signals that the result of some work is no longer needed. An AbortSignal, or something cheaper. */
export type AbortLike = Readonly<{
  aborted: boolean
  reason: unknown
  addEventListener: (type: 'abort', listener: () => void) => void
  removeEventListener: (type: 'abort', listener: () => void) => void
}>

export function throwIfAborted(interruption: AbortLike | undefined): void {
  if (interruption?.aborted) throw interruption.reason
}
