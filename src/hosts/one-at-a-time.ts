import type { PoolClient } from 'pg'
import { errors } from '../errors.ts'
import { advisoryLocks } from '../postgres/advisory-locks.ts'
import type { Installation } from './installation.ts'

/**
 * Only one host of an installation is added, changed or removed at a time. `work` stores its change on the connection
 * that it is given, which holds the lock: if that connection is lost, so that another process may begin, nothing is
 * stored.
 */
export async function oneAtATime<T>(
  { databases: { control } }: Installation,
  work: (locked: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await control.connect()
  try {
    const { rows } = await client.query<{ held: boolean }>(
      'select pg_catalog.pg_try_advisory_lock($1, 0) as held',
      [advisoryLocks.hosts],
    )
    if (!rows[0]!.held) throw errors.hostBusy()
    return await work(client)
  } finally {
    // A lock that is not given back ends with the connection, but only a moment later.
    await client.query('select pg_catalog.pg_advisory_unlock_all()').then(
      () => client.release(),
      () => client.release(true),
    )
  }
}
