import type { Pool, PoolClient } from 'pg'
import { advisoryLocks } from '../postgres/advisory-locks.ts'
import { controlTurns } from '../postgres/control/control-turns.ts'

/**
 * Whoever makes or removes an account holds its lock on a control connection. The lock dies with the process, so a
 * row in `creating` or `deleting` whose lock is free was left by a process that died.
 *
 * A few do so at once, and the others wait for their turn: `work` takes further connections while it holds this one, and
 * among too many nobody would get them, nor would any request.
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
    // A connection that was lost meanwhile has given its locks back.
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
