import { useSignalEffect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isWrite, type Statement, whatItRisks } from '../../src/client/statements.ts'
import { ApiError } from '../api/api-error.ts'
import { openCatalog, refreshCatalog } from '../api/catalog.ts'
import { useActs } from '../parts/acts.ts'
import { copyText } from '../parts/copy-button.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Skeleton } from '../parts/loading.tsx'
import { hrefOf, navigate } from '../parts/route.ts'
import { adoptStyles } from '../parts/styles.ts'
import { addDraft, currentDraft, openDrafts, saveDraftsBeforeLeaving } from './drafts.ts'
import { Editor, type EditorHandle } from './editor.tsx'
import { HistoryDialog } from './history-dialog.tsx'
import { Results } from './results.tsx'
import { currentRunAs, readOtherKeys } from './run-as.ts'
import { dropAllRuns, runStatements, runs, stopRunning } from './runs.ts'
import { packStatement, unpackStatement } from './share.ts'
import css from './sql.css' with { type: 'text' }
import { Toolbar } from './toolbar.tsx'

adoptStyles(css)

type Asked = Readonly<{ risk: string; run: () => void }>

export default function SqlPage() {
  const [isOpen, setOpen] = useState(false)
  const [asked, ask] = useState<Asked | undefined>(undefined)
  const [isHistoryOpen, setHistoryOpen] = useState(false)
  const editor = useRef<EditorHandle>(undefined)
  useEffect(() => {
    void openDrafts()
      .then(takeShared)
      .then(() => setOpen(true))
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
  const explain = (isCarriedOut: boolean) => () => {
    const statement = editor.current?.current()
    if (!statement || !currentDraft.value) return
    const statements = [{ ...statement, text: explained(statement.text, isCarriedOut) }]
    void runStatements({ draftId: currentDraft.value.id, statements, as: currentRunAs(), isPlan: true })
  }
  const share = async () => {
    const address = `${location.origin}${hrefOf('/sql')}#s=${await packStatement(currentDraft.value?.text ?? '')}`
    await copyText(address, 'The link to this draft is copied. Whoever opens it sees it; nothing is run.')
  }
  useActs([
    { name: 'Run the statement at the cursor, or the selection', keys: 'Ctrl+Enter', run: runCurrent },
    { name: 'Run all statements', keys: 'Ctrl+Shift+Enter', run: runAll },
    { name: 'Stop what is running', keys: 'Ctrl+.', run: stopRunning },
    { name: 'New draft', keys: 'Alt+n', run: () => addDraft('') },
    { name: 'Explain the statement', keys: 'Ctrl+Shift+e', run: explain(false) },
    { name: 'Explain and carry out the statement', run: explain(true) },
    { name: 'History', run: () => setHistoryOpen(true) },
    { name: 'Copy a link to this draft', run: share },
    { name: 'Read the catalog again', run: refreshCatalog },
  ])
  if (!isOpen) return <Skeleton />
  return (
    <div class="sql">
      <h1 class="hidden-text">SQL</h1>
      <Toolbar
        runCurrent={runCurrent}
        runAll={runAll}
        more={[
          { label: 'Explain', run: explain(false) },
          { label: 'Explain analyze', run: explain(true) },
          { note: 'Explain analyze carries it out. A write is rolled back.' },
          'line',
          { label: 'History', run: () => setHistoryOpen(true) },
          { label: 'Copy a link to this draft', run: share },
          { label: 'Read the catalog again', run: () => void refreshCatalog() },
        ]}
      />
      <Editor
        ready={(handle) => {
          editor.current = handle
          handle.focus()
        }}
      />
      <Results />
      {isHistoryOpen && <HistoryDialog close={() => setHistoryOpen(false)} />}
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

/** A link with a statement is shown in a draft of its own, and never run by itself. */
async function takeShared(): Promise<void> {
  const text = await unpackStatement(location.hash)
  if (text === undefined) return
  addDraft(text, 'shared')
  navigate('/sql', { replace: true })
}

/** What would change something is carried out and undone. */
function explained(text: string, isCarriedOut: boolean): string {
  if (!isCarriedOut) return `explain (format json) ${text}`
  const analyze = `explain (analyze, buffers, format json) ${text}`
  return isWrite(text) ? `begin; ${analyze}; rollback` : analyze
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
