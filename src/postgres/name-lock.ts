import type { Session } from './session.ts'

/**
 * Holds what `name` stands for (a database, a user's roles) on this session until it is given back. The backend of a
 * killed process may still be at work for a moment: whoever cleans up after it waits here until it has ended.
 */
export async function holdName(session: Session, name: string): Promise<void> {
  await session.query('select pg_catalog.pg_advisory_lock($1, pg_catalog.hashtext($2))', [nameLock, name])
}

const nameLock = 7238003
