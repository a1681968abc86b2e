import { createHash } from 'node:crypto'
import type { Queryable } from '../postgres/transaction.ts'

/** Records a request of this API key. False: it was already recorded, by any process. */
export async function noteArrival(
  control: Queryable,
  apiKeyId: number,
  idempotencyKey: string,
): Promise<boolean> {
  const { rowCount } = await control.query(
    'insert into cartage.arrived_requests (api_key_id, key_hash) values ($1, $2) on conflict do nothing',
    [apiKeyId, createHash('sha256').update(idempotencyKey).digest()],
  )
  return rowCount === 1
}

/**
 * Deletes some of the records of requests that can no longer run or be sent again: older than the longest request of any
 * account, at least `longestMs`, and `sentAgainMs`. True: there may be more.
 */
export async function forgetArrivals(
  control: Queryable,
  longestMs: number,
  sentAgainMs: number,
): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.arrived_requests where ctid = any (array(
       select ctid from cartage.arrived_requests
       where arrived_at < now() - make_interval(secs => (greatest($1, (
         select max((limits ->> name)::bigint)
         from (select limits from cartage.users union all select limits from cartage.plans) set_limits,
           unnest(array['copy_timeout_ms', 'query_timeout_ms']) name
       )) + $2) / 1000.0)
       order by arrived_at limit ${stepRequests} for update skip locked
     ))`,
    [longestMs, sentAgainMs],
  )
  return rowCount === stepRequests
}

const stepRequests = 5_000
