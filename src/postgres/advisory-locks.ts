import { quoteLiteral } from './quote.ts'
import type { Session } from './session.ts'

/** Every advisory lock of the service, so that no two uses share a number. */
export const advisoryLocks = {
  /** With the hash of the name of a database or role: whoever makes or removes it. */
  name: 7238003,
  /** With the id of a user or organization: whoever makes or removes it. */
  user: 7238004,
  organization: 7238005,
  /** With the hash of a token that an account brings along: whoever is about to store it. */
  token: 7238006,
  /** Shared, held by every process for as long as it listens for changes of accounts. */
  process: 7238007,
  /** One worker claims at a time. It is taken in `cartage.claim_jobs` and `cartage.start_job`. */
  claim: 7238010,
  /** With the id of a worker: held for as long as it is alive. */
  worker: 7238011,
  /** With the hash of a database's name: one repair of its logins at a time. */
  login: 7238020,
} as const

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
