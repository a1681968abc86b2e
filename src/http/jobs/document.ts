import type { FullJobDocument, ItemDocument, JobDocument } from '../../contract/documents.ts'
import { isFinal } from '../../contract/job-status.ts'
import type { Item, Job } from '../../jobs/job.ts'
import type { QueuePlace } from '../../jobs/list-store.ts'

/** A job as its owner sees it: in the form it was sent, templates not filled in. */
export function jobDocument(job: Job): JobDocument {
  return withoutAbsent({
    job_id: job.id,
    user: job.user,
    status: job.status,
    query: queryDocument(job),
    created_at: job.createdAt.toISOString(),
    updated_at: job.updatedAt.toISOString(),
    failed_reason: job.failedReason,
    failed_sqlstate: job.failedSqlstate,
    fallback_status: job.fallbackStatus,
    fallback_failed_reason: job.fallbackFailedReason,
  })
}

/** The same at the addresses of version 4, with what people know the job by, and its times. */
export function fullJobDocument(job: Job, place?: QueuePlace): FullJobDocument {
  const { startedAt } = job.items[0]!
  const endedAt = startedAt && isFinal(job.status) ? job.updatedAt : undefined
  return withoutAbsent({
    ...jobDocument(job),
    query: queryDocument(job, timedItemDocument),
    name: job.name,
    labels: job.labels,
    timeout: job.form === 'string' ? job.items[0]!.timeoutMs : undefined,
    started_at: startedAt?.toISOString(),
    ended_at: endedAt?.toISOString(),
    duration_ms: startedAt && endedAt && Math.max(0, endedAt.getTime() - startedAt.getTime()),
    position: place && { ahead: place.ahead, is_host_busy: place.isHostBusy },
  } as FullJobDocument)
}

function queryDocument(job: Job, itemOfArray = itemDocument): JobDocument['query'] {
  switch (job.form) {
    case 'string':
      return job.items[0]!.statement
    case 'array':
      return job.items.map(itemOfArray)
    case 'object': {
      const { onsuccess, onerror } = job
      return withoutAbsent({ query: job.items.map(timedItemDocument), onsuccess, onerror })
    }
  }
}

function itemDocument(item: Item): ItemDocument {
  return withoutAbsent({
    query: item.statement,
    onsuccess: item.onsuccess,
    onerror: item.onerror,
    timeout: item.timeoutMs,
    status: item.status,
    fallback_status: item.fallbackStatus,
    failed_reason: item.failedReason,
    failed_sqlstate: item.failedSqlstate,
    fallback_failed_reason: item.fallbackFailedReason,
  })
}

function timedItemDocument(item: Item): ItemDocument {
  const times = { started_at: item.startedAt?.toISOString(), ended_at: item.endedAt?.toISOString() }
  return withoutAbsent({ ...itemDocument(item), ...times })
}

function withoutAbsent<Document extends object>(document: Document): Document {
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined)) as Document
}
