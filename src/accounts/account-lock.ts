import type { Pool, PoolClient } from 'pg'
import { advisoryLocks } from '../postgres/advisory-locks.ts'

/**
 * Whoever makes or removes an account holds its lock on a control connection. The lock dies with the process, so a
 * row in `creating` or `deleting` whose lock is free was left by a process that died.
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
