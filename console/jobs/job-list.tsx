import { useState } from 'preact/hooks'
import type { FullJobDocument } from '../../src/contract/documents.ts'
import { firstStatementOf } from '../../src/contract/job-items.ts'
import { type JobStatus, jobStatuses } from '../../src/contract/job-status.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { useCommands } from '../parts/commands.ts'
import { FilterField } from '../parts/controls/filter-field.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { formatAge, formatDuration, shorten } from '../parts/format.ts'
import { Skeleton } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { StatusBadge } from './status-badge.tsx'
import { useJobList } from './use-job-list.ts'

/** All jobs of the account, however they were started. */
export function JobList() {
  const [status, setStatus] = useState<JobStatus | ''>('')
  const [text, setText] = useState('')
  const [label, setLabel] = useState('')
  useCommands([{ name: 'New job', keys: 'Alt+n', run: () => navigate('/jobs/new') }])
  const shown = useJobList({
    status: status || undefined,
    text: text || undefined,
    label: label || undefined,
  })
  const isFiltered = status !== '' || text !== '' || label !== ''
  const { error: olderError, isBusy, begin } = useWork()
  const error = shown.error ?? olderError
  const { jobs, readOlder } = shown
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Jobs</h1>
        <a class="button primary" href={hrefOf('/jobs/new')}>
          New job
        </a>
      </div>
      <p class="muted">
        Jobs are SQL that can run for hours, also after you close this page. The list has all jobs of the
        account.
      </p>
      <div class="row job-filters">
        <FilterField label="Filter by SQL" value={text} change={setText} />
        <SelectField
          label="Status"
          options={[['', 'all'], ...jobStatuses]}
          value={status}
          choose={setStatus}
        />
        {label && (
          <button type="button" onClick={() => setLabel('')}>
            Label {label} ✕
          </button>
        )}
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {!jobs && error === undefined && <Skeleton />}
      {jobs?.length === 0 && (
        <Empty>{isFiltered ? 'No job matches the filter.' : 'No jobs yet. Create one.'}</Empty>
      )}
      {jobs && jobs.length > 0 && <List jobs={jobs} chooseLabel={setLabel} />}
      {readOlder && (
        <button type="button" disabled={isBusy} onClick={() => begin(readOlder)}>
          Show older jobs
        </button>
      )}
    </>
  )
}

type ListProps = Readonly<{ jobs: readonly FullJobDocument[]; chooseLabel: (label: string) => void }>

function List({ jobs, chooseLabel }: ListProps) {
  return (
    <div class="panel flush scroll-x">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Job</th>
            <th scope="col">Status</th>
            <th scope="col">Queued</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <tr key={job.job_id}>
              <td>
                <JobName {...job} />
                {job.labels?.map((label) => (
                  <button type="button" class="quiet small" key={label} onClick={() => chooseLabel(label)}>
                    {label}
                  </button>
                ))}
              </td>
              <td>
                <StatusBadge status={job.status} />
              </td>
              <td title={job.created_at}>{formatAge(job.created_at)}</td>
              <td>{job.duration_ms !== undefined && formatDuration(job.duration_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function JobName({ job_id, name, query }: FullJobDocument) {
  const statement = shorten(firstStatementOf(query), 200)
  return (
    <a class={name ? '' : 'mono'} href={hrefOf(pathTo('jobs', job_id))} title={name && statement}>
      {name ?? statement}
    </a>
  )
}
