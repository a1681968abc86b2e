import { advisoryLocks } from './advisory-locks.ts'
import { quoteLiteral } from './quote.ts'
import type { Session } from './session.ts'

/**
 * Holds what `name` stands for (a database, a user's roles) on this session until it is given back. The backend of a
 * killed process may still be at work for a moment: whoever cleans up after it waits here until it has ended. Not for
 * the database of a tenant, where a tenant could hold the same lock.
 */
export async function holdName(session: Session, name: string): Promise<void> {
  await session.query(`
    set lock_timeout = '60s';
    select pg_catalog.pg_advisory_lock(${advisoryLocks.name}, pg_catalog.hashtext(${quoteLiteral(name)}));
    reset lock_timeout`)
}
