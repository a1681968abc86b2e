import { useSignalEffect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/api-error.ts'
import { openCatalog } from '../api/catalog.ts'
import { useActs } from '../parts/acts.ts'
import { Confirm } from '../parts/dialog.tsx'
import { Skeleton } from '../parts/loading.tsx'
import { adoptStyles } from '../parts/styles.ts'
import { addDraft, currentDraft, openDrafts, saveDraftsBeforeLeaving } from './drafts.ts'
import { Editor, type EditorHandle } from './editor.tsx'
import { Results } from './results.tsx'
import { currentRunAs, readOtherKeys } from './run-as.ts'
import { dropAllRuns, runStatements, runs, stopRunning } from './runs.ts'
import css from './sql.css' with { type: 'text' }
import { type Statement, whatItRisks } from './statements.ts'
import { Toolbar } from './toolbar.tsx'

adoptStyles(css)

type Asked = Readonly<{ risk: string; run: () => void }>

export default function SqlPage() {
  const [isOpen, setOpen] = useState(false)
  const [asked, ask] = useState<Asked | undefined>(undefined)
  const editor = useRef<EditorHandle>(undefined)
  useEffect(() => {
    void openDrafts().then(() => setOpen(true))
    void openCatalog()
    void readOtherKeys().catch(() => undefined)
    const stopSaving = saveDraftsBeforeLeaving()
    return () => {
      stopSaving()
      dropAllRuns()
    }
  }, [])
  useErrorMarks(editor)

  const run = (statements: readonly Statement[]) => {
    const risk = statements.map(({ text }) => whatItRisks(text)).find(Boolean)
    const begin = () => {
      editor.current?.clearMarks()
      void runStatements({ draftId: currentDraft.value!.id, statements, as: currentRunAs() })
    }
    if (risk) ask({ risk, run: begin })
    else begin()
  }
  const runCurrent = () => {
    const statement = editor.current?.current()
    if (statement) run([statement])
  }
  const runAll = () => run(editor.current?.all() ?? [])
  useActs([
    { name: 'Run the statement at the cursor, or the selection', keys: 'Ctrl+Enter', run: runCurrent },
    { name: 'Run all statements', keys: 'Ctrl+Shift+Enter', run: runAll },
    { name: 'Stop what is running', keys: 'Ctrl+.', run: stopRunning },
    { name: 'New draft', keys: 'Alt+n', run: () => addDraft('') },
  ])
  const draft = currentDraft.value
  if (!isOpen || !draft) return <Skeleton />
  return (
    <div class="sql">
      <h1 class="hidden-text">SQL</h1>
      <Toolbar runCurrent={runCurrent} runAll={runAll} />
      <Editor
        draft={draft}
        ready={(handle) => {
          editor.current = handle
          handle.focus()
        }}
      />
      <Results />
      {asked && (
        <Confirm
          title="Run it?"
          act="Run it"
          onDone={(isConfirmed) => {
            ask(undefined)
            if (isConfirmed) asked.run()
            editor.current?.focus()
          }}
        >
          <p>{asked.risk}</p>
        </Confirm>
      )}
    </div>
  )
}

/** An error that names a place is marked there, in the draft from which the statement came. */
function useErrorMarks(editor: { readonly current: EditorHandle | undefined }): void {
  useSignalEffect(() => {
    const run = runs.value.at(-1)
    const error = run?.result.error.value
    if (!run || !(error instanceof ApiError) || error.position === undefined) return
    if (run.draftId !== currentDraft.peek()?.id || run.isPlan) return
    // PostgreSQL counts characters, the editor UTF-16.
    const before = [...run.text].slice(0, error.position - 1).join('').length
    editor.current?.mark(
      run.from + before,
      error.hint ? `${error.message}\nHint: ${error.hint}` : error.message,
    )
  })
}
