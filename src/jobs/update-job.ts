import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Job, JobDefinition } from './job.ts'
import { replaceQuery } from './job-state.ts'
import { replaceDefinition } from './job-store.ts'
import { listMarks } from './mark-store.ts'
import { withLockedJob } from './with-locked-job.ts'

/** Replaces the query of a waiting job and keeps its other members. */
export async function updateJob(
  databases: Databases,
  account: Account,
  id: string,
  query: JobDefinition,
): Promise<Job> {
  return withLockedJob(databases, account, id, async (tx, found) => {
    const { name, labels, schedule, notBefore, retry } = found.job
    const definition = {
      ...withTimeoutOf(found.job, query),
      ...(name !== undefined && { name }),
      ...(labels && { labels }),
      ...(schedule !== undefined && { schedule }),
      ...(notBefore !== undefined && { notBefore }),
      ...(retry && { retry }),
    }
    const updated = replaceQuery(found.job, definition, new Date())
    if (!updated.ok) throw errors.jobNotPending(updated.message)
    // The control database may have been restored to a time before a statement was sent.
    const sent = await listMarks(databases, account.hostId, id)
    if (sent.size > 0) throw errors.jobNotPending('Job is not pending, it cannot be updated')
    return { ...updated.job, updatedAt: await replaceDefinition(tx, found, definition) }
  })
}

/** The limit of the whole job stands on each of its items. */
function withTimeoutOf({ items }: Job, query: JobDefinition): JobDefinition {
  const timeoutMs = items[0]!.timeoutMs
  if (timeoutMs === undefined || items.some((item) => item.timeoutMs !== timeoutMs)) return query
  return { ...query, items: query.items.map((item) => ({ timeoutMs, ...item })) }
}
