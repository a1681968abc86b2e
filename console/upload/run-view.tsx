import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { mergedText } from '../../src/contract/text/merged-rows.ts'
import { placeInCopy } from '../../src/file-import/find-line.ts'
import type { PlannedColumn } from '../../src/file-import/plan-import.ts'
import { withoutPointField } from '../../src/file-import/point-field.ts'
import { ApiError } from '../api/api-error.ts'
import { packStatement } from '../api/share.ts'
import { shownName } from '../api/sql.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { formatBytes, formatDuration, plural } from '../parts/format.ts'
import { ErrorNotice, Notice } from '../parts/notice.tsx'
import { BadLine } from './bad-rows.tsx'
import type { ChosenFile } from './chosen-file.ts'
import type { ImportRun, ImportStep } from './import-run.ts'
import { LeftOutRows } from './left-out-rows.tsx'
import type { Planned } from './wanted-import.ts'

type RunViewProps = Readonly<{
  run: ImportRun
  chosen: ChosenFile
  planned: Planned
  makeText: (column: PlannedColumn) => void
  /** Tries again without the rows that PostgreSQL refuses. */
  leaveOutBad: () => void
  /** Goes back to the form. */
  change: () => void
  again: () => void
}>

/** The progress of an import and its end. */
export function RunView(props: RunViewProps) {
  const { run, planned } = props
  const step = run.step.value
  useLeaveWarning(!run.isOver.value)
  return (
    <>
      <ol class="steps" aria-label="Steps">
        {planned.plan.isNew && (
          <Step run={run} at="check">
            Check that {planned.plan.table} can be created
          </Step>
        )}
        <Step run={run} at="send">
          <SendProgress run={run} />
        </Step>
        <Step run={run} at="after">
          <AfterProgress run={run} planned={planned} />
        </Step>
      </ol>
      {(step === 'check' || step === 'send') && (
        <div class="row">
          <button type="button" class="danger" onClick={() => run.cancel()}>
            Cancel upload
          </button>
        </div>
      )}
      {step === 'done' && <Done {...props} />}
      {step === 'failed' && <Failed {...props} />}
      {step === 'cancelled' && (
        <Notice acts={<BackButton {...props} />}>
          Cancelled. {planned.plan.isNew ? 'No table was created.' : 'No rows were stored.'}
        </Notice>
      )}
    </>
  )
}

const order: readonly ImportStep[] = ['check', 'send', 'after', 'done']

function Step({
  run,
  at,
  children,
}: Readonly<{ run: ImportRun; at: ImportStep; children: ComponentChildren }>) {
  const now = run.step.value === 'failed' ? run.failedAt.value : run.step.value
  const isHere = now === at
  const isDone = order.indexOf(now) > order.indexOf(at)
  const sign = isDone ? '✓' : isHere ? (run.step.value === 'failed' ? '✕' : '⋯') : '·'
  return (
    <li
      aria-current={isHere && !run.isOver.value ? 'step' : undefined}
      class={isDone || isHere ? '' : 'muted'}
    >
      <span aria-hidden="true">{sign}</span>
      <div>{children}</div>
    </li>
  )
}

function SendProgress({ run }: Readonly<{ run: ImportRun }>) {
  const { bytes, atMs } = run.sent.value
  const rows = run.rows.value
  if (rows !== undefined) return <>{plural(rows, 'row')} stored</>
  if (run.step.value !== 'send') return <>Send rows</>
  return (
    <div class="stack tight">
      <span data-testid="progress">{sendingLine(run, bytes, atMs)}</span>
      <progress aria-label="Bytes sent" max={run.totalBytes} value={bytes} />
    </div>
  )
}

function sendingLine({ totalBytes, cutAt }: ImportRun, bytes: number, atMs: number): string {
  const total = formatBytes(totalBytes)
  if (cutAt.value !== undefined)
    return `The connection was cut. ${formatBytes(totalBytes - bytes)} of ${total} are left, going on`
  if (bytes >= totalBytes) return `${total} sent. PostgreSQL is storing the rows…`
  const rate = bytes / Math.max(atMs, 1)
  const left = bytes === 0 ? 'starting' : `${formatDuration((totalBytes - bytes) / rate)} left`
  return `${formatBytes(bytes)} of ${total} · ${formatBytes(rate * 1000)}/s · ${left}`
}

function AfterProgress({ run, planned }: Pick<RunViewProps, 'run' | 'planned'>) {
  const { points, isNew, isPrepared } = planned.plan
  const job = run.job.value
  return (
    <>
      {sentence([points && isNew && 'create points', isPrepared && 'prepare for maps', 'update statistics'])}
      {job && (
        <>
          {' '}
          · <a href={hrefOf(pathTo('jobs', job.job_id))}>job</a> {job.status}
        </>
      )}
    </>
  )
}

/** Capitalized, and joined by commas. */
function sentence(parts: readonly (string | false | undefined)[]): string {
  const text = parts.filter(Boolean).join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function Done({ run, chosen, planned, again }: RunViewProps) {
  const { schema, table, points, columns, merge } = planned.plan
  const reading = chosen.reading.value
  const { rejected_rows = 0, rejected: sent = [] } = run.answer.value ?? {}
  const rejected = withoutPointField(planned.plan, sent)
  const rows = (run.rows.value ?? 0) + rejected_rows
  const merged = mergedText(run.rows.value ?? 0, run.answer.value ?? {}, merge?.onConflict)
  const expected = reading?.isWhole ? reading.inference.rows + reading.inference.badRows : rows
  const name = [...(schema ? [schema] : []), table].map(shownName).join('.')
  const hasMap = points !== undefined || columns.some(({ type }) => type.startsWith('geometry'))
  const openSql = async () => navigate(`/sql#s=${await packStatement(`select * from ${name} limit 1000`)}`)
  return (
    <Notice
      kind="good"
      acts={
        <>
          <a
            class="button primary"
            href={hrefOf(pathTo('tables', schema ?? 'public', table, hasMap ? 'map' : 'preview'))}
          >
            {hasMap ? 'Open map' : 'Open table'}
          </a>
          {chosen.isSample && (
            <a class="button" href={hrefOf('/sql')}>
              Example queries
            </a>
          )}
          <button type="button" onClick={openSql}>
            Open in SQL
          </button>
          <button type="button" onClick={again}>
            Choose another file
          </button>
        </>
      }
    >
      <p>
        <strong>{table}</strong>
        {merged ? `: ${merged}` : ` has ${plural(run.rows.value ?? 0, 'new row')}`}.
      </p>
      {rejected_rows > 0 && <LeftOutRows chosen={chosen} count={rejected_rows} rejected={rejected} />}
      {expected !== rows && <p>The file seems to have {plural(expected, 'row')}. Check what is missing.</p>}
    </Notice>
  )
}

function Failed({ run, chosen, planned, makeText, leaveOutBad, change, again }: RunViewProps) {
  const error = run.error.value
  if (run.failedAt.value === 'after') {
    return (
      <ErrorNotice
        title="The rows are stored, but the steps after that failed"
        error={error}
        acts={<BackButton change={change} again={again} />}
      />
    )
  }
  const place = placeInCopy(error instanceof ApiError ? error.context : undefined, planned.columns)
  const column = place?.column
  const line = place?.line
  return (
    <>
      <ErrorNotice
        title={
          run.isInDoubt.value
            ? 'It is unknown whether the rows were stored. Check the table before you send them again'
            : `Nothing was stored${planned.plan.isNew ? ', and no table was created' : ''}`
        }
        error={error}
        acts={<BackButton change={change} again={again} />}
      />
      {line !== undefined && <BadLine chosen={chosen} line={line} />}
      {line !== undefined && (
        <div class="row">
          {column && planned.plan.isNew && column.type !== 'text' && (
            <button type="button" class="primary" onClick={() => makeText(column)}>
              Change {shownName(column.name)} to text and try again
            </button>
          )}
          <button type="button" onClick={leaveOutBad}>
            Leave out bad rows and try again
          </button>
        </div>
      )}
    </>
  )
}

function BackButton({ change, again }: Pick<RunViewProps, 'change' | 'again'>) {
  return (
    <>
      <button type="button" onClick={change}>
        Edit and try again
      </button>
      <button type="button" onClick={again}>
        Choose another file
      </button>
    </>
  )
}

/** Makes the browser ask before it leaves the page. */
function useLeaveWarning(isNeeded: boolean): void {
  const [warn] = useState(() => (event: BeforeUnloadEvent) => event.preventDefault())
  useEffect(() => {
    if (!isNeeded) return undefined
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isNeeded])
}
