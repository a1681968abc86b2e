import { useEffect, useState } from 'preact/hooks'
import { formatAge, formatTime, plural, shorten } from '../../parts/format.ts'
import type { Run } from '../run.ts'
import { isRunOpen, pinned, runs, shownRun } from '../runs.ts'
import { closeKept, type KeptTab, keptTabs, showKept, togglePin } from './kept-tabs.ts'

/** A tab for each result: its first words, rows, key and age. */
export function RunTabs({ close }: Readonly<{ close: (run: Run) => void }>) {
  useEachMinute()
  const tabs = [
    ...keptTabs.value.map((tab) => ({ id: tab.id, shown: <StoredTab key={tab.id} tab={tab} /> })),
    ...runs.value.map((run) => ({
      id: run.id,
      shown: <RunTab key={run.id} run={run} close={() => close(run)} />,
    })),
  ]
  if (tabs.length === 0) return null
  return <div class="run-tabs">{tabs.sort((a, b) => a.id - b.id).map(({ shown }) => shown)}</div>
}

function RunTab({ run, close }: Readonly<{ run: Run; close: () => void }>) {
  const state = run.result.state.value
  const sign = { running: '⋯ ', failed: '✕ ', stopped: '◼ ', full: '◼ ', done: '' }[state]
  return (
    <ResultTab
      {...run}
      name={sign + labelOf(run)}
      facts={[...rowsOf(run), run.as.label, formatAge(run.at)]}
      isShown={run.id === shownRun.value}
      isPinned={pinned.value.has(run.id)}
      show={() => {
        shownRun.value = run.id
      }}
      pin={() => void togglePin(run)}
      close={close}
    />
  )
}

/** The tab of a result whose rows are read when it is shown. */
function StoredTab({ tab }: Readonly<{ tab: KeptTab }>) {
  const { id, about } = tab
  return (
    <ResultTab
      {...about}
      id={id}
      name={labelOf({ id, name: about.name })}
      facts={[about.isPlan ? 'plan' : plural(about.rows, 'row'), about.as, formatAge(about.at)]}
      isShown={false}
      isPinned
      show={() => void showKept(tab)}
      pin={() => closeKept(tab)}
      close={() => closeKept(tab)}
    />
  )
}

type TabProps = Readonly<{
  id: number
  name: string
  text: string
  at: number
  facts: readonly string[]
  isShown: boolean
  isPinned: boolean
  show: () => void
  pin: () => void
  close: () => void
}>

function ResultTab({ id, name, text, at, facts, isShown, isPinned, show, pin, close }: TabProps) {
  return (
    <span class={`draft run-tab ${isShown ? 'current' : ''}`}>
      <button
        type="button"
        class="quiet"
        title={`${formatTime(at)}\n${shorten(text, 300)}`}
        aria-current={isShown ? 'true' : undefined}
        onClick={show}
      >
        <span class="run-name">
          {name}
          {isPinned && ' (pinned)'}
        </span>
        <span class="run-facts">{facts.join(' · ')}</span>
      </button>
      <button
        type="button"
        class="quiet square"
        aria-pressed={isPinned}
        aria-label={`Pin result ${id}`}
        title="Pin: keep this result when you run something else, and when the page is loaded again"
        onClick={pin}
      >
        ⚲
      </button>
      <button type="button" class="quiet square" aria-label={`Close result ${id}`} onClick={close}>
        ✕
      </button>
    </span>
  )
}

const labelOf = ({ id, name }: Readonly<{ id: number; name: string }>) => `${id} · ${name}`

function rowsOf(run: Run): readonly string[] {
  const { result, isPlan } = run
  if (isPlan) return ['plan']
  const { rows, columns } = result.progress.value
  const outcome = result.outcome.value
  if (rows > 0 || columns.length > 0 || isRunOpen(run)) return [plural(rows, 'row')]
  return outcome?.kind === 'done' ? [plural(outcome.totalRows, 'row')] : []
}

/** Renders each minute, because ages are in minutes. */
function useEachMinute(): void {
  const [, setMinute] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setMinute((former) => former + 1), 60_000)
    return () => clearInterval(timer)
  }, [])
}
