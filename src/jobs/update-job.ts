import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction } from '../postgres/transaction.ts'
import type { Job, JobDefinition } from './job.ts'
import { replaceQuery } from './job-state.ts'
import { lockJob, replaceDefinition } from './job-store.ts'

/** Gives a waiting job another query. */
export async function updateJob(
  { control }: Databases,
  account: Account,
  id: string,
  definition: JobDefinition,
): Promise<Job> {
  return inTransaction(control, async (tx) => {
    const found = await lockJob(tx, account, id)
    if (!found) throw errors.jobNotFound(id)
    const updated = replaceQuery(found.job, definition, new Date())
    if (!updated.ok) throw errors.jobNotPending(updated.message)
    return { ...updated.job, updatedAt: await replaceDefinition(tx, found, definition) }
  })
}
