import { lastRateLimit } from '../api/rate-limit.ts'
import { formatAge, plural } from '../parts/format.ts'

export function RatePanel() {
  const told = lastRateLimit.value
  if (!told)
    return <p class="muted">The service has not told this tab of any limit on the number of requests.</p>
  const { limit, remaining, resetSeconds, toldAt } = told
  return (
    <p>
      {plural(remaining, 'request')} left of {limit}, as told {formatAge(toldAt)}; all of them again after{' '}
      {plural(resetSeconds, 'second')}.
    </p>
  )
}
