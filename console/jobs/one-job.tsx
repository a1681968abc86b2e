import { useState } from 'preact/hooks'
import type { FullJobDocument, JobDocument } from '../../src/contract/documents.ts'
import { partsOf } from '../../src/contract/job-items.ts'
import { isFinal } from '../../src/contract/job-status.ts'
import { ApiError } from '../api/api-error.ts'
import { curlLine } from '../api/curl.ts'
import { cancelJob, startJob } from '../api/jobs.ts'
import { session } from '../api/session.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { CopyButton } from '../parts/controls/copy-button.tsx'
import { formatTime } from '../parts/format.ts'
import { Skeleton } from '../parts/loading.tsx'
import { Empty, ErrorNotice, Notice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { composedOf, queryOf } from './composed-job.ts'
import { Fallback, ItemList } from './item-list.tsx'
import { JobProgress } from './job-progress.tsx'
import { StatusBadge } from './status-badge.tsx'
import { useFollowedJob } from './use-followed-job.ts'

export function OneJob({ id }: Readonly<{ id: string }>) {
  const { job, error, again } = useFollowedJob(id)
  if (error instanceof ApiError && error.status === 404) return <Gone id={id} />
  return (
    <>
      {error !== undefined && (
        <ErrorNotice
          error={error}
          acts={
            <button type="button" onClick={again}>
              Try again
            </button>
          }
        />
      )}
      {job ? <Known job={job} again={again} /> : error === undefined && <Skeleton />}
    </>
  )
}

function Gone({ id }: Readonly<{ id: string }>) {
  return (
    <Empty>
      <span>Job {id} was not found. The service no longer keeps it, or it belongs to another account.</span>
      <a class="button" href={hrefOf('/jobs')}>
        All jobs
      </a>
    </Empty>
  )
}

type KnownProps = Readonly<{ job: FullJobDocument; again: () => void }>

function Known({ job, again }: KnownProps) {
  const { items, onsuccess, onerror } = partsOf(job)
  return (
    <>
      <div class="stack tight">
        <p class="small">
          <a href={hrefOf('/jobs')}>Jobs</a> /
        </p>
        <div class="row">
          <h1>Job</h1>
          <StatusBadge status={job.status} />
          <code class="job-id">{job.job_id}</code>
          <CopyButton text={job.job_id} label="Copy id" />
        </div>
        <p class="muted">
          Queued {formatTime(job.created_at)}, last updated {formatTime(job.updated_at)}.
          {job.status === 'pending' && ' Waiting: jobs of one user run one after another.'}
        </p>
      </div>
      <JobProgress job={job} />
      <Acts job={job} again={again} />
      {job.failed_reason && (
        <Notice kind="error">
          <p>{job.failed_reason}</p>
          {job.failed_sqlstate && <p class="small muted">SQLSTATE {job.failed_sqlstate}</p>}
        </Notice>
      )}
      <ItemList items={items} />
      {(onsuccess || onerror) && (
        <section class="panel stack" aria-label="Fallbacks of the job">
          <div class="row">
            <h2>At the end of the job</h2>
            {job.fallback_status && <StatusBadge status={job.fallback_status} />}
          </div>
          {onsuccess && <Fallback name="onsuccess" text={onsuccess} />}
          {onerror && <Fallback name="onerror" text={onerror} />}
          {job.fallback_failed_reason && <Notice kind="error">{job.fallback_failed_reason}</Notice>}
        </section>
      )}
      <CodeBlock label="Read this job with curl" text={curlToRead(job)} />
    </>
  )
}

const curlToRead = ({ job_id: jobId }: JobDocument) =>
  curlLine('readJob', { username: session.value!.username, parameters: { jobId }, query: { wait: 30 } })

function Acts({ job, again }: KnownProps) {
  const { isBusy, error, begin } = useWork()
  const [isCancelling, setCancelling] = useState(false)
  const cancel = () =>
    begin(async () => {
      setCancelling(true)
      try {
        await cancelJob(job.job_id)
      } finally {
        setCancelling(false)
        again()
      }
    })
  const runAgain = () =>
    begin(async () => {
      const { job_id: id } = await startJob(queryOf(composedOf(job)), job)
      navigate(pathTo('jobs', id))
    })
  return (
    <>
      <div class="row">
        {!isFinal(job.status) && (
          <button type="button" class="danger" disabled={isBusy} onClick={cancel}>
            {isCancelling ? 'Cancelling…' : 'Cancel job'}
          </button>
        )}
        {job.status === 'pending' && (
          <a class="button" href={hrefOf(pathTo('jobs', job.job_id, 'change'))}>
            Edit
          </a>
        )}
        <button type="button" disabled={isBusy} onClick={runAgain}>
          Run again
        </button>
        <a class="button" href={hrefOf(pathTo('jobs', job.job_id, 'copy'))}>
          Duplicate
        </a>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
    </>
  )
}
