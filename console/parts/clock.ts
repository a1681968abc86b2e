import { signal } from '@preact/signals'

/** How far the clock of the service is ahead of this computer's, which may be wrong. */
const aheadMs = signal(0)

/** A time in a header is of whole seconds, and some of them pass on the way. */
const blurMs = 2_000

export function noteServiceTime(headers: Headers): void {
  const told = Date.parse(headers.get('date') ?? '') - Date.now()
  if (Math.abs(told - aheadMs.peek()) > blurMs) aheadMs.value = told
}

/** Every age, and every duration that is still going on, is counted up to here. */
export const serviceNow = () => Date.now() + aheadMs.value
