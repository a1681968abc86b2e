import { hasSqlstate, sqlstate } from './sqlstate.ts'

/** Somebody holds a lock that an administrative statement needed: it can be tried again later. */
export function isBusy(error: unknown): boolean {
  return hasSqlstate(
    error,
    sqlstate.lockNotAvailable,
    sqlstate.queryCanceled,
    sqlstate.objectInUse,
    sqlstate.deadlockDetected,
    sqlstate.dependentObjectsStillExist,
    sqlstate.internalError,
  )
}
