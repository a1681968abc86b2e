import { AppError } from '../errors.ts'

/** The SQLSTATEs that we branch on. */
export const sqlstate = {
  uniqueViolation: '23505',
  foreignKeyViolation: '23503',
  checkViolation: '23514',
  insufficientPrivilege: '42501',
  diskFull: '53100',
  outOfMemory: '53200',
  ioError: '58030',
  syntaxError: '42601',
  undefinedTable: '42P01',
  undefinedColumn: '42703',
  wrongObjectType: '42809',
  undefinedObject: '42704',
  undefinedFunction: '42883',
  undefinedSchema: '3F000',
  noDataFound: 'P0002',
  dependentObjectsStillExist: '2BP01',
  duplicateObject: '42710',
  duplicateDatabase: '42P04',
  duplicateTable: '42P07',
  duplicateSchema: '42P06',
  duplicateFunction: '42723',
  invalidCatalogName: '3D000',
  invalidPassword: '28P01',
  invalidAuthorization: '28000',
  invalidParameterValue: '22023',
  indeterminateDatatype: '42P18',
  connectionFailure: '08006',
  queryCanceled: '57014',
  adminShutdown: '57P01',
  crashShutdown: '57P02',
  cannotConnectNow: '57P03',
  databaseDropped: '57P04',
  tooManyConnections: '53300',
  objectInUse: '55006',
  lockNotAvailable: '55P03',
  deadlockDetected: '40P01',
  serializationFailure: '40001',
  /** Among others: concurrent update of a catalog row. */
  internalError: 'XX000',
  programLimitExceeded: '54000',
  invalidTransactionTermination: '2D000',
  activeSqlTransaction: '25001',
  readOnlyTransaction: '25006',
  /** Ours: raised by the quota triggers of prepared tables. */
  quotaExceeded: 'QUOTA',
} as const

/** The error's SQLSTATE, or its errno, such as ECONNREFUSED. */
export function sqlstateOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

export function hasSqlstate(error: unknown, ...states: readonly string[]): boolean {
  const state = sqlstateOf(error)
  return state !== undefined && states.includes(state)
}

/** The server could not write for lack of space. At the start of a session it says so only in its message. */
export const isDiskFull = (error: unknown) =>
  hasSqlstate(error, sqlstate.diskFull, 'ENOSPC') ||
  (error instanceof Error && error.message.includes('No space left on device'))

/** The connection or the server was lost: the outcome of statements in flight is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  const state = sqlstateOf(error)
  if (state === undefined)
    return (
      error instanceof Error &&
      /^Connection terminated|^Client (has encountered|was closed)|^timeout expired$/.test(error.message)
    )
  return (
    /^(08...|57P0[12345]|25P03|53300)$/.test(state) ||
    [
      'ECONNREFUSED',
      'ECONNRESET',
      'EPIPE',
      'ETIMEDOUT',
      'ENOTFOUND',
      'EHOSTUNREACH',
      'ENETUNREACH',
      'EAI_AGAIN',
    ].includes(state)
  )
}

/** A lock that an administrative statement needs is held: retry later. */
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

/** A tenant changed or dropped an object under an administrative statement: a retry sees the new state. */
export function isOvertaken(error: unknown): boolean {
  return hasSqlstate(
    error,
    sqlstate.internalError,
    sqlstate.serializationFailure,
    sqlstate.deadlockDetected,
    sqlstate.undefinedTable,
    sqlstate.undefinedSchema,
    sqlstate.undefinedObject,
    sqlstate.undefinedFunction,
    sqlstate.noDataFound,
  )
}

/** pg.Pool: no connection became free in time. */
export function isPoolFull(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}

/** pg.Pool: used after its end. */
export function isPoolClosed(error: unknown): boolean {
  return error instanceof Error && error.message === 'Cannot use a pool after calling end on the pool'
}

/** The host does not answer: its tenants must wait. */
export function isOutOfReach(error: unknown): boolean {
  return (error instanceof AppError && error.kind === 'unavailable') || isConnectionLoss(error)
}
