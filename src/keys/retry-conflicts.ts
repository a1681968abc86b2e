import { errors } from '../errors.ts'
import { hasSqlstate, isOvertaken, sqlstate } from '../postgres/sqlstate.ts'
import { retry } from '../waiting/retry.ts'

/**
 * Runs a transaction on the tenant's catalogs. It fails if a tenant's statement changed or dropped the same objects
 * meanwhile; that statement is over by then, so a retry helps.
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await retry(work, { attempts: 6, isTransient: isOvertaken, pauseMs: (attempt) => attempt * 10 })
  } catch (error) {
    if (isOvertaken(error) || hasSqlstate(error, sqlstate.lockNotAvailable)) throw errors.tablesBusy(error)
    // The access list of a table must fit into one page of the catalog: some 2,000 roles.
    if (hasSqlstate(error, sqlstate.programLimitExceeded)) throw errors.keyInvalid([tooManyGrantees])
    throw error
  }
}

/** How long a catalog change waits for a tenant's statement. */
export const lockTimeout = `set local lock_timeout = '2s'`

const tooManyGrantees = 'Grants too many keys have grants on one of these tables'
