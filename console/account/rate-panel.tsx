import { lastRateLimit } from '../api/rate-limit.ts'
import { formatAge, formatCount, plural } from '../parts/format.ts'

export function RatePanel() {
  const seen = lastRateLimit.value
  if (!seen) return <p class="muted">No request limit.</p>
  const { limit, remaining, resetSeconds, seenAt } = seen
  return (
    <p>
      {formatCount(remaining)} of {plural(limit, 'request')} left ({formatAge(seenAt)}). The limit resets
      after {plural(resetSeconds, 'second')}.
    </p>
  )
}
