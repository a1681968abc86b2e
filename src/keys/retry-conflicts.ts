import { setTimeout as sleep } from 'node:timers/promises'
import { errors } from '../errors.ts'
import { hasSqlstate, isOvertaken, sqlstate } from '../postgres/sqlstate.ts'

/**
 * Runs a transaction on the tenant's catalogs. It fails when a statement of the tenant has changed or dropped the same
 * objects meanwhile; that one is over by then, so trying again helps.
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (hasSqlstate(error, sqlstate.lockNotAvailable)) throw errors.tablesBusy(error)
      // The list of who may do what with a table has to fit into one page of the catalog: some 2,000 roles.
      if (hasSqlstate(error, sqlstate.programLimitExceeded)) throw errors.keyInvalid([tooManyGrantees])
      if (!isOvertaken(error)) throw error
      if (attempt === maxAttempts) throw errors.tablesBusy(error)
      await sleep(attempt * 10)
    }
  }
}

/** How long a catalog change waits for a statement of the tenant. */
export const lockTimeout = `set local lock_timeout = '2s'`

const tooManyGrantees = 'Grants too many keys have grants on one of these tables'
const maxAttempts = 6
