import { useEffect, useState } from 'preact/hooks'
import type { JobDocument } from '../../src/contract/documents.ts'
import { isFinal } from '../../src/contract/job-status.ts'
import { cancelJob, startJob, watchJob } from '../api/jobs.ts'
import { session } from '../api/session.ts'
import { quoteName, shownName } from '../api/sql.ts'
import { Dialog } from '../parts/controls/dialog.tsx'
import { DialogActs } from '../parts/controls/dialog-acts.tsx'
import { Field } from '../parts/controls/field.tsx'
import { formatDuration } from '../parts/format.ts'
import { ErrorNotice, Notice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { addDraft } from './drafts.ts'

type JobStatement = Readonly<{ text: string; params?: readonly unknown[] | undefined }>

/** Offers to run a statement that is too long for a request as a job, and follows that job. */
export function AsJob({ text, params }: JobStatement) {
  const [isAsking, setAsking] = useState(false)
  const [job, setJob] = useState<Readonly<{ document: JobDocument; table: string }> | undefined>(undefined)
  if (!session.value?.isMaster)
    return <span class="small">To run it as a job, sign in with the Master key.</span>
  if (job) return <JobProgress started={job.document} table={job.table} />
  return (
    <>
      <button type="button" class="primary" onClick={() => setAsking(true)}>
        Run as a job
      </button>
      {isAsking && (
        <AskForTable
          text={text}
          params={params}
          close={() => setAsking(false)}
          started={(document, table) => {
            setAsking(false)
            setJob({ document, table })
          }}
        />
      )}
    </>
  )
}

type AskProps = JobStatement &
  Readonly<{ close: () => void; started: (document: JobDocument, table: string) => void }>

function AskForTable({ text, params, close, started }: AskProps) {
  const [table, setTable] = useState('')
  const { isBusy, error, begin } = useWork()
  const submit = (event: Event) => {
    event.preventDefault()
    const name = table.trim()
    const query = name ? intoTable(text, name) : text
    void begin(async () => started(await startJob(params ? [{ query, params }] : query), name))
  }
  return (
    <Dialog title="Run as a job" onClose={close}>
      <form class="stack" onSubmit={submit}>
        <p>
          A job can run for hours, also after you close this page. The rows of a SELECT are kept only if you
          store them in a table.
        </p>
        <Field
          label="New table (optional)"
          help="Stores the rows under this name. Empty: runs the statement as it is."
        >
          {(props) => (
            <input {...props} value={table} onInput={(event) => setTable(event.currentTarget.value)} />
          )}
        </Field>
        {error !== undefined && <ErrorNotice error={error} />}
        <DialogActs act={isBusy ? 'Sending…' : 'Start job'} isReady={!isBusy} close={close} />
      </form>
    </Dialog>
  )
}

const intoTable = (text: string, name: string) =>
  `create table ${quoteName(name)} as ${text.replace(/;\s*$/, '')}`

function JobProgress({ started, table }: Readonly<{ started: JobDocument; table: string }>) {
  const [job, setJob] = useState(started)
  const [error, setError] = useState<unknown>(undefined)
  const cancelling = useWork()
  useEffect(() => {
    const left = new AbortController()
    watchJob(started.job_id, left.signal, setJob).catch(
      (failed: unknown) => left.signal.aborted || setError(failed),
    )
    return () => left.abort()
  }, [started.job_id])
  if (error !== undefined) return <ErrorNotice error={error} />
  const took = formatDuration(Math.max(0, Date.parse(job.updated_at) - Date.parse(job.created_at)))
  const kind = job.status === 'done' ? 'good' : isFinal(job.status) ? 'warning' : 'info'
  return (
    <Notice kind={kind}>
      <p role="status">
        Job {job.job_id}: {job.status}
        {isFinal(job.status) && ` after ${took}`}
      </p>
      {job.failed_reason && <p>{job.failed_reason}</p>}
      <div class="row">
        {!isFinal(job.status) && (
          <button
            type="button"
            class="danger"
            disabled={cancelling.isBusy}
            onClick={() => cancelling.begin(async () => void (await cancelJob(job.job_id)))}
          >
            {cancelling.isBusy ? 'Cancelling…' : 'Cancel job'}
          </button>
        )}
        {job.status === 'done' && table && (
          <button type="button" onClick={() => addDraft(`select * from ${shownName(table)}`, table)}>
            Open {table}
          </button>
        )}
      </div>
      {cancelling.error !== undefined && !isFinal(job.status) && <ErrorNotice error={cancelling.error} />}
    </Notice>
  )
}
