import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/api-error.ts'
import { readJob } from '../api/jobs.ts'
import {
  addKnownJobs,
  forgetJob,
  type KnownJob,
  knownJobs,
  openKnownJobs,
  rememberJob,
} from '../api/known-jobs.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { useCommands } from '../parts/commands.ts'
import { Field } from '../parts/controls/field.tsx'
import { formatAge, plural } from '../parts/format.ts'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { readJobsFile, saveJobsFile } from './jobs-file.ts'
import { StatusBadge } from './status-badge.tsx'

export function JobList() {
  const { error, begin } = useWork()
  const file = useRef<HTMLInputElement>(null)
  useEffect(() => void openKnownJobs(), [])
  useCommands([{ name: 'New job', keys: 'Alt+n', run: () => navigate('/jobs/new') }])
  const jobs = knownJobs.value
  const load = () =>
    begin(async () => {
      const read = await readJobsFile(file.current!.files![0]!)
      await addKnownJobs(read)
      toast(`${plural(read.length, 'job')} added`)
    }).finally(() => {
      file.current!.value = ''
    })
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Jobs</h1>
        <button type="button" disabled={jobs.length === 0} onClick={() => saveJobsFile(jobs)}>
          Export
        </button>
        <button type="button" onClick={() => file.current!.click()}>
          Import
        </button>
        <input ref={file} type="file" accept=".json" hidden aria-label="Jobs file" onChange={load} />
        <a class="button primary" href={hrefOf('/jobs/new')}>
          New job
        </a>
      </div>
      <p class="muted">
        Jobs are SQL that can run for hours, also after you close this page. This list is stored in this
        browser: add jobs started elsewhere by their id.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
      {jobs.length === 0 ? (
        <Empty>No jobs yet. Create one, or add one by its id.</Empty>
      ) : (
        <List jobs={jobs} />
      )}
      <AddById />
    </>
  )
}

function List({ jobs }: Readonly<{ jobs: readonly KnownJob[] }>) {
  return (
    <div class="panel flush scroll-x">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">First statement</th>
            <th scope="col">Status</th>
            <th scope="col">Queued</th>
            <th scope="col">
              <span class="hidden-text">Remove</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {jobs.map(({ id, text, status, createdAt }) => (
            <tr key={id}>
              <td class="mono">
                <a href={hrefOf(pathTo('jobs', id))}>{text || id}</a>
              </td>
              <td>
                <StatusBadge status={status} />
              </td>
              <td title={createdAt}>{createdAt && formatAge(createdAt)}</td>
              <td>
                <button
                  type="button"
                  class="quiet"
                  title="Removes it from this list. The job itself continues"
                  aria-label={`Remove ${text || id}`}
                  onClick={() => forgetJob(id)}
                >
                  Remove
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function AddById() {
  const [id, setId] = useState('')
  const { isBusy, error, begin } = useWork()
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      const job = await readJob(id.trim())
      await rememberJob(job)
      setId('')
    })
  }
  const isUnknown = error instanceof ApiError && error.status === 404
  return (
    <form class="add-job" onSubmit={submit}>
      <Field
        label="Add a job by its id"
        problem={isUnknown ? 'Job not found: the id is wrong, or the service no longer keeps it.' : undefined}
      >
        {(props) => (
          <span class="row">
            <input
              {...props}
              class="mono grow"
              required
              spellcheck={false}
              autocomplete="off"
              placeholder="37c7050e-46a4-4476-b82e-268a4f2ea5ed"
              value={id}
              onInput={(event) => setId(event.currentTarget.value)}
            />
            <button type="submit" disabled={isBusy}>
              Add
            </button>
          </span>
        )}
      </Field>
      {error !== undefined && !isUnknown && <ErrorNotice error={error} />}
    </form>
  )
}
