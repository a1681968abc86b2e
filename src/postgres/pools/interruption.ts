/** Tells that nobody waits for some work any more. An AbortSignal is one; there are others that cost less. */
export type Interruption = Readonly<{
  aborted: boolean
  reason: unknown
  addEventListener: (type: 'abort', listener: () => void) => void
  removeEventListener: (type: 'abort', listener: () => void) => void
}>

export function throwIfAborted(interruption: Interruption | undefined): void {
  if (interruption?.aborted) throw interruption.reason
}
