import { quoteLiteral } from '../contract/text/quote.ts'
import type { Session } from './session.ts'

/** Every advisory lock of the service, so that no two uses share a number. */
export const advisoryLocks = {
  /** With the hash of a database or role name: held while it is created or removed. */
  name: 7238003,
  /** With the id of a user or organization: held while it is created or removed. */
  user: 7238004,
  organization: 7238005,
  /** With 0: one host is added, changed or removed at a time, so that no two are one cluster. */
  hosts: 7238023,
  /** With the id of a restore: held by the process that carries it out. */
  restore: 7238024,
  /** With the hash of a token chosen by the caller: held until it is stored. */
  token: 7238006,
  /** Shared: every process holds it while it listens for account changes. */
  process: 7238007,
  /** One worker claims at a time. Taken in `cartage.claim_jobs`, `cartage.start_job` and `cartage.hold_jobs`. */
  claim: 7238010,
  /** With the id of a worker: held while it is alive. */
  worker: 7238011,
  /** With the id of a user: held while a template of maps is added, so that their number is known. */
  mapTemplates: 7238021,
  /** One change of limits at a time. Taken in `cartage.limit_jobs`. */
  limits: 7238022,
  /** With the hash of a database's name: one login repair at a time. */
  login: 7238020,
} as const

/**
 * Locks the name of a database or of a user's roles on this session, until the session is released. The backend of a
 * killed process may still run for a moment: cleanup waits here until it has ended. Not for a tenant's database, where
 * a tenant could take the same lock.
 */
export async function holdName(session: Session, name: string): Promise<void> {
  await session.query(`
    set lock_timeout = '60s';
    select pg_catalog.pg_advisory_lock(${advisoryLocks.name}, pg_catalog.hashtext(${quoteLiteral(name)}));
    reset lock_timeout`)
}
