/** The SQLSTATEs that we branch on, by name. */
export const sqlstate = {
  uniqueViolation: '23505',
  foreignKeyViolation: '23503',
  insufficientPrivilege: '42501',
  diskFull: '53100',
  outOfMemory: '53200',
  ioError: '58030',
  syntaxError: '42601',
  undefinedTable: '42P01',
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
  /** Among others: a row of a catalog was changed by two at once. */
  internalError: 'XX000',
  programLimitExceeded: '54000',
  invalidTransactionTermination: '2D000',
  activeSqlTransaction: '25001',
  /** Ours: the quota triggers of prepared tables raise it. */
  quotaExceeded: 'QUOTA',
} as const

/** The SQLSTATE (or the errno, such as ECONNREFUSED) that an error carries. */
export function sqlstateOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

export function hasSqlstate(error: unknown, ...states: readonly string[]): boolean {
  const state = sqlstateOf(error)
  return state !== undefined && states.includes(state)
}

/** The connection or the server went away: nothing is known of what was in flight. */
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

/** A tenant changed or dropped meanwhile what an administrative statement works on: another try sees how it is now. */
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

/** What pg.Pool says when no connection became free in time. */
export function isPoolFull(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}

/** What pg.Pool says once it has been ended. */
export function isPoolClosed(error: unknown): boolean {
  return error instanceof Error && error.message === 'Cannot use a pool after calling end on the pool'
}
