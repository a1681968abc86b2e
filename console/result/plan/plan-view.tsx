import { useId, useState } from 'preact/hooks'
import { CopyButton } from '../../parts/controls/copy-button.tsx'
import { Tabs, tabPanel } from '../../parts/controls/tabs.tsx'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import type { Result } from '../result.ts'
import { type Plan, readPlan } from './plan.ts'
import { PlanTree } from './plan-tree.tsx'

/** A plan as a tree of its nodes, and as PostgreSQL wrote it. */
export default function PlanView({ result }: Readonly<{ result: Result }>) {
  const state = result.state.value
  const plan = useLoaded(async () => {
    await result.ended
    if (result.error.value) throw result.error.value
    const hasPlan = result.progress.peek().rows > 0
    return readPlan((hasPlan && (await result.ask('cell', { row: 0, column: 0 }))) || '[]')
  }, [result])
  if (state === 'failed') return <ErrorNotice error={result.error.value} />
  return (
    <div class="result-view plan">
      <Load from={plan}>{(read) => <ShownPlan plan={read} />}</Load>
    </div>
  )
}

const tabs = [
  { name: 'tree', label: 'Tree' },
  { name: 'text', label: 'Text' },
] as const

function ShownPlan({ plan: { lines, facts, text } }: Readonly<{ plan: Plan }>) {
  const id = useId()
  const [view, setView] = useState<'tree' | 'text'>('tree')
  if (text === '[]') return <Empty>Stopped before the plan was ready.</Empty>
  return (
    <>
      <div class="row">
        <Tabs id={id} label="Views of the plan" tabs={tabs} chosen={view} choose={setView} />
        <span class="small muted grow">{facts.join(' ')}</span>
        <CopyButton text={text} label="Copy as JSON" />
      </div>
      <div {...tabPanel(id, view)}>{view === 'text' ? <Raw text={text} /> : <PlanTree lines={lines} />}</div>
    </>
  )
}

function Raw({ text }: Readonly<{ text: string }>) {
  return (
    <section aria-label="The plan as PostgreSQL wrote it">
      <pre>{text}</pre>
    </section>
  )
}
