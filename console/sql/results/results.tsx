import { useState } from 'preact/hooks'
import { isOverTime } from '../../api/api-error.ts'
import { Confirm } from '../../parts/controls/dialog.tsx'
import { Notice } from '../../parts/notice.tsx'
import { LazyPlan } from '../../result/lazy-view.tsx'
import type { ServerOrder } from '../../result/result.ts'
import { ResultView } from '../../result/result-view.tsx'
import { AsJob } from '../as-job.tsx'
import { Begin } from '../begin.tsx'
import { currentId } from '../drafts.ts'
import type { Run } from '../run.ts'
import { keyNamed, missingKey } from '../run-as.ts'
import { isRunOpen, runs, shownRun } from '../runs.ts'
import { TransactionBar } from '../transaction-bar.tsx'
import { earlierResults } from './earlier-results.ts'
import { closePinned, keptNote } from './kept-tabs.ts'
import { OnlyThese } from './only-these.tsx'
import { RunTabs } from './run-tabs.tsx'

type ResultsProps = Readonly<{ sortOnServer: (run: Run, order: ServerOrder) => void }>

export function Results({ sortOnServer }: ResultsProps) {
  const shown = runs.value.find(({ id }) => id === shownRun.value)
  const [closing, setClosing] = useState<Run | undefined>(undefined)
  const close = (run: Run) => (isRunOpen(run) ? setClosing(run) : closePinned(run.id))
  const finishClosing = (isConfirmed: boolean) => {
    if (isConfirmed && closing) closePinned(closing.id)
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
        <RunTabs close={close} />
        <KeptNote />
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

function KeptNote() {
  const close = () => {
    keptNote.value = undefined
  }
  if (!keptNote.value) return null
  return (
    <Notice
      kind="warning"
      acts={
        <button type="button" onClick={close}>
          OK
        </button>
      }
    >
      {keptNote.value}
    </Notice>
  )
}

function ShownRun({ run, sortOnServer }: ResultsProps & Readonly<{ run: Run }>) {
  if (run.isPlan) return <LazyPlan result={run.result} />
  const error = run.result.error.value
  const sent = { text: run.bound?.text ?? run.text, params: run.bound?.params }
  const isTooLong = isOverTime(error) || run.result.state.value === 'full'
  const isStored = run.formerMs !== undefined
  const as = isStored ? keyNamed(run.as.label) : run.as
  return (
    <ResultView
      result={run.result}
      look={run.look}
      asLabel={run.as.label}
      source={as && { ...sent, credential: as.credential }}
      earlier={earlierResults(run)}
      cellActs={<OnlyThese run={run} />}
      former={isStored ? { at: run.at, ms: run.formerMs } : undefined}
      sortOnServer={as && ((order) => sortOnServer({ ...run, as }, order))}
      errorActs={isTooLong && <AsJob {...sent} />}
    />
  )
}
