import type { Pool, PoolClient } from 'pg'
import { advisoryLocks } from '../postgres/advisory-locks.ts'
import { controlTurns } from '../postgres/control/control-turns.ts'
import { poll } from '../waiting/poll.ts'

/**
 * Creating or removing an account holds its lock on a control connection. The lock ends with the process, so a row in
 * `creating` or `deleting` whose lock is free was left by a dead process.
 *
 * Only a few run at once; the others queue. `work` takes further connections while it holds this one: with too many at
 * once, neither they nor any request would get one.
 */
export function holdingLocks<T>(control: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return inTurn(control, {}, () => onOwnConnection(control, work))
}

/** Fewer than the administrator's connections to one database. */
const inTurn = controlTurns({ total: 3, waitMs: 60_000 })

async function onOwnConnection<T>(control: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await control.connect()
  try {
    const result = await work(client)
    // If the connection was lost meanwhile, its locks are already free.
    const unlocked = client.query('select pg_catalog.pg_advisory_unlock_all()')
    client.release(
      await unlocked.then(
        () => false,
        () => true,
      ),
    )
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Waits for a moment: a repair may be looking at the account. */
export async function patiently(lock: () => Promise<boolean>): Promise<boolean> {
  return (await poll(async () => (await lock()) || undefined, { everyMs: 50, timeoutMs: 3_000 })) ?? false
}

export async function lockUser(client: PoolClient, userId: number): Promise<boolean> {
  return lock(client, advisoryLocks.user, userId)
}

export async function lockOrganization(client: PoolClient, organizationId: number): Promise<boolean> {
  return lock(client, advisoryLocks.organization, organizationId)
}

async function lock(client: PoolClient, kind: number, id: number): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(
    'select pg_catalog.pg_try_advisory_lock($1, $2) as held',
    [kind, id],
  )
  return rows[0]!.held
}
