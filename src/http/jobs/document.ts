import type { ItemDocument, JobDocument } from '../../contract/documents.ts'
import type { Item, Job } from '../../jobs/job.ts'

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

function queryDocument(job: Job): JobDocument['query'] {
  switch (job.form) {
    case 'string':
      return job.items[0]!.statement
    case 'array':
      return job.items.map(itemDocument)
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
