import { signal } from '@preact/signals'

/** How far the clock of the service is ahead of this computer's clock, which may be wrong. */
const aheadMs = signal(0)

/** Smaller differences are ignored: the Date header has whole seconds, and answers take time. */
const blurMs = 2_000

export function noteServiceTime(header: (name: string) => string | undefined): void {
  const told = Date.parse(header('date') ?? '') - Date.now()
  if (Math.abs(told - aheadMs.peek()) > blurMs) aheadMs.value = told
}

/** The current time by the clock of the service, for ages and running durations. */
export const serviceNow = () => Date.now() + aheadMs.value
