import { useEffect } from 'preact/hooks'
import { Dialog } from '../parts/controls/dialog.tsx'
import type { ToRun } from './run.ts'
import { canRunBeside, heldBack, isRunOpen, runBatch, runs, stopAll } from './runs.ts'

/** Asks what to do with a statement that the user starts while another one is running. */
export function WhileRunning() {
  const toRun = heldBack.value
  useEffect(() => forget, [])
  return toRun ? <Question toRun={toRun} /> : null
}

function forget(): void {
  heldBack.value = undefined
}

function Question({ toRun }: Readonly<{ toRun: ToRun }>) {
  const open = runs.value.filter(isRunOpen)
  const run = (before: () => Promise<void>) => async () => {
    forget()
    await before()
    await runBatch(toRun)
  }
  return (
    <Dialog title="A statement is running" onClose={forget}>
      {open.length === 0 && <p>It has ended meanwhile.</p>}
      {open.map(({ id, name }) => (
        <p key={id}>
          {id} · <code>{name}</code>
        </p>
      ))}
      {!canRunBeside(toRun) && <p class="muted small">{whyNotBeside}</p>}
      <div class="dialog-acts">
        <button type="button" onClick={forget}>
          Cancel
        </button>
        {open.length > 0 && (
          <button type="button" class="danger" onClick={run(stopAll)}>
            Stop it and run this
          </button>
        )}
        {canRunBeside(toRun) && (
          <button type="button" class="primary" onClick={run(async () => undefined)}>
            {open.length > 0 ? 'Run both' : 'Run'}
          </button>
        )}
      </div>
    </Dialog>
  )
}

const whyNotBeside =
  'The statements of one transaction run one after the other, and at most three texts at the same time.'
