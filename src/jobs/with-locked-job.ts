import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { findJob, lockJob, type StoredJob } from './job-store.ts'

/**
 * Works on a job that nobody else can touch meanwhile: its worker can neither record nor begin anything. If we die,
 * nothing has been said. While another has it, or `work` answers that it is not the moment, we wait without holding
 * a connection.
 */
export async function withLockedJob<T>(
  { control }: Databases,
  account: Account,
  id: string,
  work: (tx: ClientBase, found: StoredJob) => Promise<T | undefined>,
): Promise<T> {
  for (const deadline = Date.now() + patienceMs; ; ) {
    const result = await inTransaction(control, async (tx) => {
      await tx.query(`set local idle_in_transaction_session_timeout = '${3 * patienceMs}ms'`)
      const found = await lockJob(tx, account, id)
      return found && work(tx, found)
    })
    if (result !== undefined) return result
    if (!(await findJob(control, account, id))) throw errors.jobNotFound(id)
    if (Date.now() > deadline) throw errors.statementNotStopped()
    await sleep(askAgainMs)
  }
}

const patienceMs = 20_000
const askAgainMs = 20
