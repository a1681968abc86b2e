import { errors } from '../errors.ts'
import { hasSqlstate, isOvertaken, sqlstate } from '../postgres/sqlstate.ts'
import { retry } from '../waiting/retry.ts'

/**
 * Runs a transaction on the tenant's catalogs. It fails when a statement of the tenant has changed or dropped the same
 * objects meanwhile; that one is over by then, so trying again helps.
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await retry(work, { attempts: 6, isTransient: isOvertaken, pauseMs: (attempt) => attempt * 10 })
  } catch (error) {
    if (isOvertaken(error) || hasSqlstate(error, sqlstate.lockNotAvailable)) throw errors.tablesBusy(error)
    // The privileges of a table must fit into one page of the catalog: some 2,000 roles.
    if (hasSqlstate(error, sqlstate.programLimitExceeded)) throw errors.keyInvalid([tooManyGrantees])
    throw error
  }
}

/** How long a catalog change waits for a statement of the tenant. */
export const lockTimeout = `set local lock_timeout = '2s'`

const tooManyGrantees = 'Grants too many keys have grants on one of these tables'
