import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import { whileAskingHost } from '../postgres/control/while-asking-host.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { poll } from '../waiting/poll.ts'
import { findJob, lockJob, type StoredJob } from './job-store.ts'

/**
 * Runs `work` on a job whose row is locked: meanwhile its worker can neither record nor begin anything. All in one
 * transaction, so if this process dies, nothing has changed. Retries while the row is locked, or `work` returns
 * undefined, and holds no connection in between.
 */
export async function withLockedJob<T>(
  { control }: Databases,
  account: Account,
  id: string,
  work: (tx: ClientBase, found: StoredJob) => Promise<T | undefined>,
): Promise<T> {
  const lockAndWork = () =>
    inTransaction(control, async (tx) => {
      await tx.query(`set local idle_in_transaction_session_timeout = '${3 * patienceMs}ms'`)
      const found = await lockJob(tx, account, id)
      return found && work(tx, found)
    })
  const attempt = async () => {
    const result = await whileAskingHost(control, account.hostId, lockAndWork)
    if (result === undefined && !(await findJob(control, account, id))) throw errors.jobNotFound(id)
    return result
  }
  const result = await poll(attempt, { everyMs: 20, timeoutMs: patienceMs })
  if (result === undefined) throw errors.statementNotStopped()
  return result
}

const patienceMs = 20_000
