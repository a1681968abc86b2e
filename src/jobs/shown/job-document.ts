import type {
  FullItemDocument,
  FullJobDocument,
  ItemDocument,
  JobDocument,
  JobProgressDocument,
  NewItem,
} from '../../contract/documents.ts'
import { isFinal } from '../../contract/job-status.ts'
import { elementsOf, keptDigits, significantDigits } from '../../contract/text/json-rows.ts'
import type { Item, ItemDefinition, Job, JobDefinition, RetryRule } from '../job.ts'
import type { QueuePlace } from '../list-store.ts'
import type { JobProgress } from '../progress/job-progress.ts'

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
export function fullJobDocument(job: Job, place?: QueuePlace, progress?: JobProgress): FullJobDocument {
  const { startedAt } = job.items[0]!
  const endedAt = startedAt && isFinal(job.status) ? job.updatedAt : undefined
  return withoutAbsent({
    ...jobDocument(job),
    query: queryDocument(job, fullItemDocument),
    name: job.name,
    labels: job.labels,
    schedule: job.schedule,
    ...(job.form === 'string' && ofStatement(job.items[0]!)),
    not_before: job.delayedUntil?.toISOString() ?? job.notBefore,
    retry: job.retry && retryDocument(job.retry),
    attempts: attemptsOf(job),
    started_at: startedAt?.toISOString(),
    ended_at: endedAt?.toISOString(),
    duration_ms: startedAt && endedAt && Math.max(0, endedAt.getTime() - startedAt.getTime()),
    position: place && { ahead: place.ahead, is_host_busy: place.isHostBusy },
    progress: progress && progressDocument(progress),
  } as FullJobDocument)
}

/** The number of attempts that have begun. */
function attemptsOf({ items, retries = 0, status }: Job): number | undefined {
  if (retries > 0) return status === 'pending' ? retries : retries + 1
  return items[0]!.startedAt ? 1 : undefined
}

function progressDocument({ item, items, seen, etaMs }: JobProgress): JobProgressDocument {
  const lock = seen?.lock ?? undefined
  return withoutAbsent({
    item,
    items,
    phase: seen?.phase ?? undefined,
    percent: seen?.percent ?? undefined,
    waits_for: lock === undefined ? undefined : { lock, sessions: seen!.blockers },
    eta_ms: etaMs,
  } as JobProgressDocument)
}

/** The document of a job definition, before it becomes a job. */
export function definitionDocument(definition: JobDefinition) {
  const { form, items, name, labels, retry, onsuccess, onerror } = definition
  const [first] = items
  const chain = items.map(newItemDocument)
  return withoutAbsent({
    query:
      form === 'string'
        ? first!.statement
        : form === 'array'
          ? chain
          : withoutAbsent({ query: chain, onsuccess, onerror }),
    ...(form === 'string' && ofStatement(first!)),
    name,
    labels,
    retry: retry && retryDocument(retry),
  })
}

const newItemDocument = ({ statement, params, onsuccess, onerror, timeoutMs }: ItemDefinition): NewItem =>
  withoutAbsent({
    query: statement,
    params: params?.map(shownParam),
    onsuccess,
    onerror,
    timeout: timeoutMs,
  } as NewItem)

const retryDocument = ({ attempts, backoffMs }: RetryRule) => ({ attempts, backoff_s: backoffMs / 1000 })

/** What the items of other forms say themselves. */
const ofStatement = ({ timeoutMs, params, rows }: Pick<Item, 'timeoutMs' | 'params' | 'rows'>) => ({
  timeout: timeoutMs,
  params: params?.map(shownParam),
  rows,
})

function queryDocument(job: Job, fullItem?: (item: Item) => ItemDocument): JobDocument['query'] {
  switch (job.form) {
    case 'string':
      return job.items[0]!.statement
    case 'array':
      return job.items.map(fullItem ?? itemDocument)
    case 'object': {
      const { onsuccess, onerror } = job
      return withoutAbsent({ query: job.items.map(fullItem ?? timedItemDocument), onsuccess, onerror })
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

export function fullItemDocument(item: Item): FullItemDocument {
  return withoutAbsent({ ...timedItemDocument(item), params: item.params?.map(shownParam), rows: item.rows })
}

function withoutAbsent<Document extends object>(document: Document): Document {
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined)) as Document
}

/** A value as it is shown: a number that JSON.parse does not keep, also in an array, becomes a string, which binds the same. */
function shownParam(json: string): unknown {
  const value = JSON.parse(json) as unknown
  if (Array.isArray(value)) return [...elementsOf(json)].map(shownParam)
  return typeof value === 'number' && !isExact(json, value) ? json : value
}

/** Written in another way, such as 1.0 or 1e3, a number may still be the same. */
function isExact(json: string, value: number): boolean {
  const digits = significantDigits(json)
  const isInRange = Number.isFinite(value) && (value !== 0 || digits === 0)
  return isInRange && (digits <= keptDigits || String(value) === json)
}
