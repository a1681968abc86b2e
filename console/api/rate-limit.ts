import { signal } from '@preact/signals'
import { serviceNow } from '../parts/clock.ts'

export type RateLimit = Readonly<{ limit: number; remaining: number; resetSeconds: number; toldAt: number }>

/** What the service said last of how many requests are left; nothing where it does not limit them. */
export const lastRateLimit = signal<RateLimit | undefined>(undefined)

export function noteRateLimit(headers: Headers): void {
  const read = (name: string) => Number(headers.get(`carto-rate-limit-${name}`) ?? Number.NaN)
  const [limit, remaining, resetSeconds] = [read('limit'), read('remaining'), read('reset')]
  if (!Number.isNaN(limit + remaining + resetSeconds)) {
    lastRateLimit.value = { limit, remaining, resetSeconds, toldAt: serviceNow() }
  }
}
