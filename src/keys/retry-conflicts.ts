import { setTimeout as sleep } from 'node:timers/promises'
import { errors } from '../errors.ts'
import { hasSqlstate, isOvertaken, sqlstate } from '../postgres/sqlstate.ts'

/**
 * Runs a transaction on the tenant's catalogs. It fails if a tenant's statement changed or dropped the same objects
 * meanwhile; that statement is over by then, so a retry helps.
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (hasSqlstate(error, sqlstate.lockNotAvailable)) throw errors.tablesBusy(error)
      // The access list of a table must fit into one page of the catalog: some 2,000 roles.
      if (hasSqlstate(error, sqlstate.programLimitExceeded)) throw errors.keyInvalid([tooManyGrantees])
      if (!isOvertaken(error)) throw error
      if (attempt === maxAttempts) throw errors.tablesBusy(error)
      await sleep(attempt * 10)
    }
  }
}

/** How long a catalog change waits for a tenant's statement. */
export const lockTimeout = `set local lock_timeout = '2s'`

const tooManyGrantees = 'Grants too many keys have grants on one of these tables'
const maxAttempts = 6
