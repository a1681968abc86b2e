import type { Rate } from '../config/config-variables.ts'
import type { EndpointGroup } from '../contract/admin-names.ts'
import type { Queryable } from '../postgres/transaction.ts'

export type RateVerdict = Readonly<{
  isAllowed: boolean
  /** Seconds until the full burst is available again. */
  resetSeconds: number
  /** If refused: seconds until the next request is allowed. */
  retrySeconds: number
}>

/** Callers without a key have their own count, so that they cannot use up the user's. */
export type RateBucket = EndpointGroup | `${EndpointGroup} without a key`

/**
 * Counts one request against a rate (GCRA), for all processes: one statement on one small row. A refused request is not
 * counted. If the stored time is further ahead than the rate allows, the clock was set back or the rate was changed:
 * the count starts again. Uses clock_timestamp(), not now(), which is the start of the transaction: a request that
 * waited for the row would find the time of the requests before it too far ahead.
 */
export async function takeRequest(
  control: Queryable,
  userId: number,
  bucket: RateBucket,
  rate: Rate,
): Promise<RateVerdict> {
  const interval = rate.seconds / rate.count
  const taken = await control.query<{ ahead: number }>(
    `insert into cartage.rate_limits as known (user_id, endpoint_group, due_at)
     values ($1, $2, clock_timestamp() + make_interval(secs => $3))
     on conflict (user_id, endpoint_group) do update
       set due_at = case when known.due_at > clock_timestamp() + make_interval(secs => $4) then clock_timestamp()
         else greatest(known.due_at, clock_timestamp()) end + make_interval(secs => $3)
       where known.due_at + make_interval(secs => $3) <= clock_timestamp() + make_interval(secs => $4)
         or known.due_at > clock_timestamp() + make_interval(secs => $4)
     returning extract(epoch from due_at - clock_timestamp())::float8 as ahead`,
    [userId, bucket, interval, interval * rate.burst],
  )
  if (taken.rows[0]) return { isAllowed: true, resetSeconds: taken.rows[0].ahead, retrySeconds: 0 }
  const { rows } = await control.query<{ ahead: number }>(
    `select extract(epoch from due_at - now())::float8 as ahead
     from cartage.rate_limits where user_id = $1 and endpoint_group = $2`,
    [userId, bucket],
  )
  const ahead = Math.max(rows[0]?.ahead ?? 0, 0)
  return {
    isAllowed: false,
    resetSeconds: ahead,
    retrySeconds: Math.max(ahead - interval * (rate.burst - 1), 0),
  }
}
