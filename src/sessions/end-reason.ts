import { AppError, errors } from '../errors.ts'

/** Why a session ended. Also a label of the metrics. */
export type EndReason =
  | 'closed'
  | 'idle'
  | 'idle-in-transaction'
  | 'long-transaction'
  | 'too-long'
  | 'key'
  | 'suspended'
  | 'operator'
  | 'moving'
  | 'database'
  | 'guard'
  | 'setting'
  | 'client'
  | 'shutdown'

/** Why a caller who was refused loses its session; undefined if it was not refused. */
export function refusalReason(error: unknown): 'key' | 'suspended' | 'moving' | undefined {
  if (!(error instanceof AppError)) return undefined
  if (error.kind === 'unauthenticated' || error.code === 'api-forbidden') return 'key'
  if (error.code === 'account-moving') return 'moving'
  return error.code === 'account-suspended' ? 'suspended' : undefined
}

/** What its client is told. `detail` for the reasons that have one. */
export function whyLost(reason: Exclude<EndReason, 'closed'>, detail?: unknown): AppError {
  return errors.sessionLost(typeof detail === 'string' ? detail : texts[reason])
}

const texts: Record<Exclude<EndReason, 'closed'>, string> = {
  idle: 'it was idle for too long',
  'idle-in-transaction': 'it was idle inside a transaction for too long',
  'long-transaction': 'without a key a transaction may not last so long',
  'too-long': 'it has reached the longest time of a session',
  key: 'its key was deleted, has a new token, has expired, or may no longer use SQL',
  suspended: 'the account was suspended',
  operator: 'it was ended by the operator',
  moving: 'the account moves to another database host',
  database: 'the connection to the database was lost',
  guard: 'it was ended by the guard of the database host',
  setting: 'a setting was changed that must stay',
  client: 'its client did not read the answer',
  shutdown: 'the service is shutting down',
}
