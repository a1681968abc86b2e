import { useState } from 'preact/hooks'
import { isOverTime } from '../api/api-error.ts'
import { Confirm } from '../parts/controls/dialog.tsx'
import { shorten } from '../parts/format.ts'
import { Notice } from '../parts/notice.tsx'
import { PlanView } from '../result/plan/plan-view.tsx'
import type { ServerOrder } from '../result/result.ts'
import { ResultView } from '../result/result-view.tsx'
import { AsJob } from './as-job.tsx'
import { Begin } from './begin.tsx'
import { currentId } from './drafts.ts'
import { missingKey } from './run-as.ts'
import { closeRun, isRunOpen, pinned, type Run, runs, shownRun, togglePinned } from './runs.ts'
import { TransactionBar } from './transaction-bar.tsx'

type ResultsProps = Readonly<{ sortOnServer: (run: Run, order: ServerOrder) => void }>

export function Results({ sortOnServer }: ResultsProps) {
  const shown = runs.value.find(({ id }) => id === shownRun.value)
  const [closing, setClosing] = useState<Run | undefined>(undefined)
  const close = (run: Run) => (isRunOpen(run) ? setClosing(run) : closeRun(run.id))
  const finishClosing = (isConfirmed: boolean) => {
    if (isConfirmed && closing) closeRun(closing.id)
    setClosing(undefined)
  }
  return (
    <section class="results" aria-label="Results">
      <div class="results-head">
        <TransactionBar draftId={currentId.value} />
        {missingKey.value && (
          <Notice kind="warning">
            The key {missingKey.value.name} {missingKey.value.why}, so nothing runs. Choose another key above.
          </Notice>
        )}
        {runs.value.length > 0 && (
          <div class="run-tabs">
            {runs.value.map((run) => (
              <RunTab key={run.id} run={run} close={() => close(run)} />
            ))}
          </div>
        )}
      </div>
      {shown ? <ShownRun key={shown.id} run={shown} sortOnServer={sortOnServer} /> : <Begin />}
      {closing && (
        <Confirm title="Stop this statement?" act="Stop and close" onDone={finishClosing}>
          <p>
            It is still running: <code>{closing.name}</code>
          </p>
        </Confirm>
      )}
    </section>
  )
}

function RunTab({ run, close }: Readonly<{ run: Run; close: () => void }>) {
  const isPinned = pinned.value.has(run.id)
  const state = run.result.state.value
  const result = `result ${run.id}`
  return (
    <span class={`draft ${run.id === shownRun.value ? 'current' : ''}`}>
      <button
        type="button"
        class="quiet"
        title={shorten(run.text, 300)}
        aria-current={run.id === shownRun.value ? 'true' : undefined}
        onClick={() => {
          shownRun.value = run.id
        }}
      >
        {{ running: '⋯ ', failed: '✕ ', stopped: '◼ ', full: '◼ ', done: '' }[state]}
        {run.id} · {run.name}
        {isPinned && ' (pinned)'}
      </button>
      <button
        type="button"
        class="quiet square"
        aria-pressed={isPinned}
        aria-label={`Pin ${result}`}
        title="Pin: keep this result when you run something else"
        onClick={() => togglePinned(run.id)}
      >
        ⚲
      </button>
      <button type="button" class="quiet square" aria-label={`Close ${result}`} onClick={close}>
        ✕
      </button>
    </span>
  )
}

function ShownRun({ run, sortOnServer }: ResultsProps & Readonly<{ run: Run }>) {
  if (run.isPlan) return <PlanView result={run.result} />
  const error = run.result.error.value
  const sent = { text: run.bound?.text ?? run.text, params: run.bound?.params }
  const isTooLong = isOverTime(error) || run.result.state.value === 'full'
  return (
    <ResultView
      result={run.result}
      look={run.look}
      asLabel={run.as.label}
      source={{ ...sent, credential: run.as.credential }}
      sortOnServer={(order) => sortOnServer(run, order)}
      errorActs={isTooLong && <AsJob {...sent} />}
    />
  )
}
