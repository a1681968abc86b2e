import { createHash } from 'node:crypto'
import type { Queryable } from '../postgres/transaction.ts'

/** Notes that a request of this API key has come. False: it had come before, to whichever process. */
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

/** Forgets some of those that came longer ago. True: there may be more. */
export async function forgetArrivals(control: Queryable, ageMs: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.arrived_requests where ctid = any (array(
       select ctid from cartage.arrived_requests
       where arrived_at < now() - make_interval(secs => $1)
       order by arrived_at limit ${stepRequests} for update skip locked
     ))`,
    [ageMs / 1000],
  )
  return rowCount === stepRequests
}

const stepRequests = 5_000
