import { AppError } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import type { JobRun } from './job-run.ts'
import type { WorkContext } from './work-context.ts'

export type Opened =
  | Readonly<{ kind: 'open'; session: Session }>
  /** The user's role or database is gone for good. */
  | Readonly<{ kind: 'vanished'; reason: string }>
  | Readonly<{ kind: 'unreachable' }>

type SessionWish = Pick<JobRun, 'session' | 'isBegunAhead'> &
  Readonly<{ claimed: Pick<JobRun['claimed'], 'target'> }>

/** A connection as the user's master role, clean or with the transaction begun ahead: the last step's, or another one. */
export async function openSession(
  { databases, health, interrupted }: WorkContext,
  { claimed: { target }, session: last, isBegunAhead }: SessionWish,
): Promise<Opened> {
  if (last && (isBegunAhead || (await isCleaned(last)))) return { kind: 'open', session: last }
  try {
    const session = await databases.job.acquire(target, interrupted)
    health.worked(target.hostId)
    return { kind: 'open', session }
  } catch (error) {
    const reason = vanished(error)
    if (reason !== undefined) return { kind: 'vanished', reason }
    if (!interrupted.aborted && !isAtOwnLimit(error)) await health.tenantFailed(target, error, interrupted)
    return { kind: 'unreachable' }
  }
}

/** Backends of this user that do not end hold all its connections, which says nothing about the host. */
function isAtOwnLimit(error: unknown): boolean {
  return error instanceof AppError && error.code === 'connections-exhausted'
}

async function isCleaned(session: Session): Promise<boolean> {
  if (!session.isAlive) return false
  return session.clean().then(
    () => session.isAlive,
    async () => {
      await session.destroy()
      return false
    },
  )
}

/** In our own words: PostgreSQL's would name role and database. */
function vanished(error: unknown): string | undefined {
  const cause = error instanceof AppError ? error.cause : error
  if (hasSqlstate(cause, sqlstate.invalidCatalogName)) return 'The database of the user no longer exists'
  if (hasSqlstate(cause, sqlstate.undefinedObject)) return 'The database role of the user no longer exists'
  return undefined
}
