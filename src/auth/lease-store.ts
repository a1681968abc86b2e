import { advisoryLocks } from '../postgres/advisory-locks.ts'
import type { Queryable } from '../postgres/transaction.ts'

/**
 * Channel for account changes. The payload is the number of a change that waits for confirmation, or empty for one just
 * committed.
 */
export const changeChannel = 'cartage_accounts'

/** Notifies all processes at commit; the change has no number yet. */
export async function tellChange(tx: Queryable): Promise<void> {
  await tx.query('select cartage.tell($1, $2)', [changeChannel, ''])
}

/** Gives a committed change its number and notifies all processes of it. */
export async function numberChange(control: Queryable): Promise<number> {
  const { rows } = await control.query<{ number: string }>(
    `with change as (select nextval('cartage.account_changes') as number)
     select number, cartage.tell($1, number::text) from change`,
    [changeChannel],
  )
  return Number(rows[0]!.number)
}

/** Shows that this process listens for changes, while its connection lives. */
export async function showPresence(client: Queryable): Promise<void> {
  await client.query('select pg_catalog.pg_advisory_lock_shared($1)', [advisoryLocks.process])
}

export type NewLease = Readonly<{ id: string; newestChange: number }>

/** `formerId` is the previous lease of this process. */
export async function registerLease(control: Queryable, formerId: string | undefined): Promise<NewLease> {
  const { rows } = await control.query<{ id: string; confirmed: string }>(
    `with former as (delete from cartage.cache_leases where id = $1)
     insert into cartage.cache_leases (confirmed) select last_value from cartage.account_changes
     returning id, confirmed`,
    [formerId ?? null],
  )
  return { id: rows[0]!.id, newestChange: Number(rows[0]!.confirmed) }
}

/** Confirms the changes up to `confirmed`. Returns the newest change; undefined if the lease was removed. */
export async function renewLease(
  control: Queryable,
  id: string,
  confirmed: number,
): Promise<number | undefined> {
  const { rows } = await control.query<{ newest: string }>(
    `update cartage.cache_leases set confirmed = $2, renewals = renewals + 1 where id = $1
     returning (select last_value from cartage.account_changes) as newest`,
    [id, confirmed],
  )
  return rows[0] && Number(rows[0].newest)
}

export async function removeLease(control: Queryable, id: string): Promise<void> {
  await control.query('delete from cartage.cache_leases where id = $1', [id])
}

export type LeaseBehind = Readonly<{ id: string; renewals: string }>

/** Leases of processes that have not confirmed the change. */
export async function leasesBehind(control: Queryable, change: number): Promise<readonly LeaseBehind[]> {
  const { rows } = await control.query<LeaseBehind>(
    'select id, renewals from cartage.cache_leases where confirmed < $1',
    [change],
  )
  return rows
}

/** Removes the leases that were not renewed since they were seen. */
export async function removeUnrenewed(control: Queryable, seen: readonly LeaseBehind[]): Promise<void> {
  await control.query(
    `delete from cartage.cache_leases lease
     using unnest($1::bigint[], $2::bigint[]) as seen(id, renewals)
     where lease.id = seen.id and lease.renewals = seen.renewals`,
    [seen.map(({ id }) => id), seen.map(({ renewals }) => renewals)],
  )
}

/** How many processes use this control database. */
export async function countProcesses(control: Queryable): Promise<number> {
  const { rows } = await control.query<{ count: number }>(
    `select count(*)::integer as count from pg_catalog.pg_locks
     where locktype = 'advisory' and objid = $1 and mode = 'ShareLock' and granted
       and database = (select oid from pg_catalog.pg_database where datname = current_database())`,
    [advisoryLocks.process],
  )
  return rows[0]!.count
}
