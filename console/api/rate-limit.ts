import { signal } from '@preact/signals'
import { serviceNow } from '../parts/browser/clock.ts'

export type RateLimit = Readonly<{ limit: number; remaining: number; resetSeconds: number; seenAt: number }>

/** The rate limit of the last answer; undefined if the service has none. */
export const lastRateLimit = signal<RateLimit | undefined>(undefined)

export function noteRateLimit(header: (name: string) => string | undefined): void {
  const read = (name: string) => Number(header(`carto-rate-limit-${name}`) ?? Number.NaN)
  const [limit, remaining, resetSeconds] = [read('limit'), read('remaining'), read('reset')]
  if (!Number.isNaN(limit + remaining + resetSeconds)) {
    lastRateLimit.value = { limit, remaining, resetSeconds, seenAt: serviceNow() }
  }
}
