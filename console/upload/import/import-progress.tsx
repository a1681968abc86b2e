import { importWarnings } from '../../../src/contract/text/import-warnings.ts'
import { sectionFile } from '../../../src/file-import/rejects-file.ts'
import { saveFile } from '../../parts/browser/files.ts'
import { hrefOf, pathTo } from '../../parts/browser/route.ts'
import { formatBytes, plural } from '../../parts/format.ts'
import { ErrorNotice, Notice } from '../../parts/notice.tsx'
import { RejectedTable } from '../rejected-table.tsx'
import type { ServiceImport } from './service-import.ts'

/** One import: its progress and its end. */
export function ImportProgress({ run }: Readonly<{ run: ServiceImport }>) {
  if (!run.isOver.value) return <Running run={run} />
  if (run.step.value === 'done') return <Done run={run} />
  if (run.step.value === 'cancelled')
    return (
      <Notice>
        <strong>{run.file.name}</strong>: cancelled. No table was created.
      </Notice>
    )
  const said = run.document.value?.get_error_text
  const title = `${run.file.name} was not imported.`
  return (
    <>
      <ErrorNotice title={title} error={said ? new Error(said.what_about) : run.error.value} />
      <Rejected run={run} />
    </>
  )
}

/** The rows that were left out: the first of them, and all as files. */
function Rejected({ run }: Readonly<{ run: ServiceImport }>) {
  const {
    rejected = [],
    rejected_rows: count = 0,
    rejected_sections: sections = [],
  } = run.document.value ?? {}
  if (count === 0) return null
  let before = 0
  const files = sections.map((section) => {
    const rows = rejected.slice(before, before + section.rows)
    before += section.rows
    return { name: `${section.table}-rejected.csv`, text: () => sectionFile(section, rows) }
  })
  return (
    <div class="panel stack tight">
      <p class="row">
        {plural(count, 'row was', 'rows were')} left out.{' '}
        {files.map(({ name, text }) => (
          <button
            key={name}
            type="button"
            onClick={() => saveFile(name, new Blob([text()], { type: 'text/csv' }))}
          >
            Download {name}
          </button>
        ))}
      </p>
      <RejectedTable rejected={rejected} count={count} />
    </div>
  )
}

function Running({ run }: Readonly<{ run: ServiceImport }>) {
  const isSending = run.step.value === 'send'
  const { state = 'pending', progress } = run.document.value ?? {}
  const [value, max] = isSending
    ? [run.sentBytes.value, run.file.size]
    : [progress?.bytes_read ?? 0, progress?.bytes_total ?? 0]
  const rows = progress?.rows ? ` · ${plural(progress.rows, 'row')}` : ''
  return (
    <div class="panel stack tight">
      <div class="row">
        <strong class="file-name">{run.file.name}</strong>
        <span class="muted" data-testid="progress">
          {isSending ? sendingLine(run, value, max) : `${states[state] ?? state}${rows}`}
        </span>
        <span class="grow" />
        <button type="button" class="danger" onClick={() => run.cancel()}>
          Cancel
        </button>
      </div>
      <progress
        aria-label={`Progress of ${run.file.name}`}
        {...(max > 0 && (isSending || value > 0) && { max, value })}
      />
    </div>
  )
}

function sendingLine(run: ServiceImport, sent: number, total: number): string {
  if (run.cutAt.value === undefined) return `${formatBytes(sent)} of ${formatBytes(total)} sent`
  return `The connection was cut. ${formatBytes(total - sent)} of ${formatBytes(total)} are left, going on`
}

const states: Readonly<Record<string, string>> = {
  pending: 'Waiting for a worker',
  unpacking: 'Reading the file',
  importing: 'Storing rows',
}

function Done({ run }: Readonly<{ run: ServiceImport }>) {
  const { table_names = [], tables_created_count = 0, warnings = null, progress } = run.document.value ?? {}
  const links = table_names.map((name) => (
    <a key={name} class="button" href={hrefOf(pathTo('tables', 'public', name, 'map'))}>
      Open {name}
    </a>
  ))
  const isSkipped = tables_created_count === 0 && !progress?.rows
  return (
    <>
      <Notice kind="good" acts={links}>
        <p>
          <strong>{run.file.name}</strong>:{' '}
          {isSkipped
            ? 'nothing was done, as the table exists.'
            : `${plural(progress?.rows ?? 0, 'row')} in ${plural(table_names.length, 'table')}.`}
        </p>
        {run.mergedText && <p>{run.mergedText}.</p>}
        {importWarnings(warnings).map((text) => (
          <p key={text} class="small">
            {text}
          </p>
        ))}
      </Notice>
      <Rejected run={run} />
    </>
  )
}
