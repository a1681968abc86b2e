import type { Pool, PoolClient } from 'pg'

/**
 * Whoever makes or removes an account holds its lock on a control connection. The lock dies with the process, so a
 * row in `creating` or `deleting` whose lock is free is the leftover of a death.
 */
export async function holdingLocks<T>(control: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await control.connect()
  try {
    const result = await work(client)
    await client.query('select pg_catalog.pg_advisory_unlock_all()')
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

export async function lockUser(client: PoolClient, userId: number): Promise<boolean> {
  return lock(client, userLock, userId)
}

export async function lockOrganization(client: PoolClient, organizationId: number): Promise<boolean> {
  return lock(client, organizationLock, organizationId)
}

/** The state under the lock: what was read before it was taken may be over by then. Undefined: it is gone. */
export async function stateOf(
  client: PoolClient,
  table: 'users' | 'organizations',
  id: number,
): Promise<'creating' | 'active' | 'deleting' | undefined> {
  const { rows } = await client.query(`select state from cartage.${table} where id = $1`, [id])
  return rows[0]?.state
}

async function lock(client: PoolClient, kind: number, id: number): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(
    'select pg_catalog.pg_try_advisory_lock($1, $2) as held',
    [kind, id],
  )
  return rows[0]!.held
}

const userLock = 7238004
const organizationLock = 7238005
