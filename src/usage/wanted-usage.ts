import { type UsagePeriod, usageDays } from '../contract/usage-names.ts'
import { errors } from '../errors.ts'
import type { UsageSpan } from './usage-store.ts'

export type UsageWords = Readonly<{
  since?: string | undefined
  until?: string | undefined
  by?: UsagePeriod | undefined
}>

/**
 * By default the last 30 days with the current hour, by day. Both ends are rounded down to full hours, so that
 * consecutive ranges never share an hour. Refuses invalid times and empty ranges.
 */
export function wantedUsage({ since, until, by = 'day' }: UsageWords, now: Date): UsageSpan {
  const end = until === undefined ? new Date(now.getTime() + hourMs) : timeOf('until', until)
  const start = since === undefined ? new Date(end.getTime() - thirtyDaysMs) : timeOf('since', since)
  const range = { since: fullHour(start), until: fullHour(end), by }
  if (range.since >= range.until)
    throw errors.badRequest('Invalid since: it must be in an hour before the hour of until')
  if (end.getTime() - start.getTime() > mostMs)
    throw errors.badRequest(`Invalid since: it must be at most ${mostDays} days before until`)
  return range
}

const fullHour = (time: Date) => new Date(Math.floor(time.getTime() / hourMs) * hourMs)

function timeOf(name: string, text: string): Date {
  const written = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d))?$/.exec(text)
  const day = written && new Date(`${written[1]}T00:00:00Z`)
  const time = written && new Date(text)
  // JavaScript takes 31 February for 3 March.
  const isReal = day && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(written[1]!)
  if (time && isReal && !Number.isNaN(time.getTime()) && /^\d{4}-/.test(time.toISOString())) return time
  throw errors.badRequest(
    `Invalid ${name}: it must be a day such as 2026-01-31 or a time such as 2026-01-31T10:00:00Z`,
  )
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const thirtyDaysMs = 30 * dayMs
/** Some more than is kept. */
const mostDays = usageDays + 10
const mostMs = mostDays * dayMs
