import { type Principal, sessionTargetOf } from '../auth/account.ts'
import { AppError } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { SessionTarget } from '../postgres/session-target.ts'
import { isConnectionLoss, sqlstateOf } from '../postgres/sqlstate.ts'
import { isRead } from '../sql/is-read.ts'

/** A caller that wants to read from a replica. */
export type ReplicaReader = Readonly<{
  /** A statement begins on a replica, with data that is at most this old. */
  begins: (ageMs: number) => void
  /** The replica could not answer the statement that began last: the primary does. */
  returns: () => void
}>

/**
 * A replica that may answer. None for a text that is no read: a server that has just been promoted might store it, and a text
 * that catches errors would hide that a replica stores nothing. Only a caller who was just confirmed knows the last change of rights.
 */
export async function chooseReplica(
  { replicas }: Databases,
  principal: Principal,
  { text, target = sessionTargetOf(principal) }: Readonly<{ text?: string; target?: SessionTarget }>,
): Promise<SessionTarget | undefined> {
  if (text !== undefined && !isRead(text)) return undefined
  await principal.confirm()
  return replicas.choose(target)
}

/** Once its connection is there: the wait for it may have been long. */
export function beginOnReplica({ replicas }: Databases, target: SessionTarget, reader: ReplicaReader): void {
  const ageMs = replicas.ageOf(target)
  if (ageMs === undefined) throw new ReplicaUnfit()
  reader.begins(ageMs)
}

class ReplicaUnfit extends Error {
  override readonly name = 'ReplicaUnfit'
}

/**
 * The primary may answer otherwise: the replica is lost, ended the statement to go on, cannot write, or is behind with a table, a role or
 * a right. Only a read was sent there, so it can be run again.
 */
export function isOfReplica(error: unknown): boolean {
  if (error instanceof ReplicaUnfit || isLost(error)) return true
  const state = error instanceof AppError ? error.extras.sqlstate : sqlstateOf(error)
  return state !== undefined && classes.has(state.slice(0, 2))
}

/** The replica no longer answers, or lets this caller not in. */
export const isLost = (error: unknown) =>
  error instanceof AppError ? lostCodes.has(error.code) : isConnectionLoss(error)

const lostCodes: ReadonlySet<string> = new Set([
  'connections-exhausted',
  'database-unavailable',
  'password-not-shown',
  'statement-outcome-unknown',
])

/**
 * Of SQLSTATEs: feature not supported, invalid transaction state (25006: read only), invalid login, invalid catalog, invalid schema,
 * transaction rollback (40001: conflict with recovery), access rule violation and unknown names, wrong state (55000: recovery), internal.
 */
const classes: ReadonlySet<string> = new Set(['0A', '25', '28', '3D', '3F', '40', '42', '55', 'XX'])
