import { ApiError } from '../api/api-error.ts'
import { shorten } from '../parts/format.ts'
import { Empty } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { type DownloadFormat, startDownload } from '../result/download.ts'
import { PlanView } from '../result/plan-view.tsx'
import { ResultView } from '../result/result-view.tsx'
import { AsJob } from './as-job.tsx'
import { closeRun, pinned, type Run, runs, shownRun, togglePinned } from './runs.ts'

export function Results() {
  const shown = runs.value.find(({ id }) => id === shownRun.value)
  return (
    <section class="results" aria-label="Results">
      {runs.value.length > 0 && (
        <div class="run-tabs">
          {runs.value.map((run) => (
            <RunTab key={run.id} run={run} />
          ))}
        </div>
      )}
      {shown ? (
        <ShownRun key={shown.id} run={shown} />
      ) : (
        <Empty>Results show here. Rows appear as they arrive.</Empty>
      )}
    </section>
  )
}

function RunTab({ run }: Readonly<{ run: Run }>) {
  const isPinned = pinned.value.has(run.id)
  const state = run.result.state.value
  const name = `Result ${run.id}`
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
        {name}
        {isPinned && ' (pinned)'}
      </button>
      <button
        type="button"
        class="quiet square"
        aria-pressed={isPinned}
        aria-label={`Keep ${name}`}
        title="Keep it when something else is run"
        onClick={() => togglePinned(run.id)}
      >
        ⚲
      </button>
      <button
        type="button"
        class="quiet square"
        aria-label={`Close ${name}`}
        onClick={() => closeRun(run.id)}
      >
        ✕
      </button>
    </span>
  )
}

function ShownRun({ run }: Readonly<{ run: Run }>) {
  const download = async (format: DownloadFormat) => {
    toast('The download begins with the first row')
    const error = await startDownload(run.text, run.as.credential, format)
    if (error) toast(error)
  }
  if (run.isPlan) return <PlanView result={run.result} />
  const error = run.result.error.value
  const isTooLong = (error instanceof ApiError && error.isOverTime) || run.result.state.value === 'full'
  return (
    <ResultView
      result={run.result}
      look={run.look}
      asLabel={run.as.label}
      download={download}
      errorActs={isTooLong && <AsJob text={run.text} />}
    />
  )
}
