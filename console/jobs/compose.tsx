import { useState } from 'preact/hooks'
import type { FullJobDocument, JobQuery } from '../../src/contract/documents.ts'
import { charactersOf } from '../../src/contract/job-items.ts'
import { maxLongJobCharacters } from '../../src/contract/limits.ts'
import { curlLine } from '../api/curl.ts'
import { changeJob, jobRequest, readFullJob, startJob } from '../api/jobs.ts'
import { session } from '../api/session.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ErrorNotice, Notice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { ComposedItems, FallbackFields } from './composed-items.tsx'
import { type ComposedJob, composedOf, emptyJob, newItem, queryOf } from './composed-job.ts'
import { FromEditor } from './from-editor.tsx'

export function NewJob() {
  return <JobForm title="New job" act="Start job" begun={emptyJob()} send={startJob} />
}

/** Edits a pending job, or starts a new one as a copy. */
export function ChangeJob({ id, isCopy }: Readonly<{ id: string; isCopy: boolean }>) {
  const read = useLoaded((signal) => readFullJob(id, signal), [id])
  return (
    <Load from={read}>
      {(job) =>
        isCopy ? (
          <JobForm title="New job" act="Start job" begun={composedOf(job)} like={job} send={startJob} />
        ) : (
          <JobForm
            title="Edit job"
            act="Save changes"
            begun={composedOf(job)}
            send={(query) => changeJob(id, query)}
          />
        )
      }
    </Load>
  )
}

type FormProps = Readonly<{
  title: string
  act: string
  begun: ComposedJob
  /** The job of which it is a copy. */
  like?: FullJobDocument
  send: (query: JobQuery, like?: FullJobDocument) => Promise<Readonly<{ job_id: string }>>
}>

function JobForm({ title, act, begun, like, send }: FormProps) {
  const [job, change] = useState(begun)
  const { isBusy, error, begin } = useWork()
  const query = queryOf(job)
  const { operation, json } = jobRequest(query, like)
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => navigate(pathTo('jobs', (await send(query, like)).job_id)))
  }
  return (
    <>
      <div class="page-head">
        <h1 class="grow">{title}</h1>
        <FromEditor take={(statements) => change({ ...job, items: statements.map(newItem) })} />
      </div>
      <form class="job-form" onSubmit={submit}>
        <div class="stack">
          <ComposedItems items={job.items} change={(items) => change({ ...job, items })} />
          <FallbackFields
            legend="At the end of the job"
            successHelp="Runs if every statement succeeded."
            errorHelp="Runs if a statement failed, after the onerror of that statement."
            texts={job}
            change={(texts) => change({ ...job, ...texts })}
          />
        </div>
        <aside class="stack" aria-label="Request">
          <h2>Request</h2>
          <CodeBlock label="Request as JSON" text={JSON.stringify(json, null, 2)} />
          <Length characters={charactersOf(query)} />
          <CodeBlock
            label="Request with curl"
            text={curlLine(operation, { username: session.value!.username, json })}
          />
          {error !== undefined && <ErrorNotice error={error} />}
          <div class="row">
            <button type="submit" class="primary" disabled={isBusy}>
              {isBusy ? 'Sending…' : act}
            </button>
            <a class="button" href={hrefOf('/jobs')}>
              Cancel
            </a>
          </div>
        </aside>
      </form>
    </>
  )
}

function Length({ characters }: Readonly<{ characters: number }>) {
  const text = `${formatCount(characters)} of ${formatCount(maxLongJobCharacters)} characters`
  if (characters <= maxLongJobCharacters) return <p class="muted small">{text}</p>
  return (
    <Notice kind="warning">
      {text}: too long. Move parts into functions, or split it into several jobs.
    </Notice>
  )
}
