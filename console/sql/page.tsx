import { useSignalEffect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Statement, whatItRisks } from '../../src/client/statements.ts'
import { ApiError } from '../api/api-error.ts'
import { openCatalog, refreshCatalog } from '../api/catalog.ts'
import { curlLine } from '../api/curl.ts'
import { isTooLongToShare, packStatement, unpackStatement } from '../api/share.ts'
import { useActs } from '../parts/acts.ts'
import { copyText } from '../parts/copy-button.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Skeleton } from '../parts/loading.tsx'
import { fragment, hrefOf, navigate } from '../parts/route.ts'
import { adoptStyles } from '../parts/styles.ts'
import { toast } from '../parts/toast.tsx'
import type { ServerOrder } from '../result/result.ts'
import { prepareWorker } from '../result/spare-worker.ts'
import { Divider, editorShare } from './divider.tsx'
import { addDraft, currentDraft, openDrafts, saveDraftsBeforeLeaving } from './drafts.ts'
import { Editor, type EditorHandle } from './editor.tsx'
import { HistoryDialog } from './history-dialog.tsx'
import { isOneTransaction, isRunAsOne, wholeOf } from './one-transaction.ts'
import { Results } from './results.tsx'
import { chooseKeyOnceKnown, currentRunAs, missingKey } from './run-as.ts'
import { dropAllRuns, type Run, type RunAs, runStatements, runs, stopRunning } from './runs.ts'
import { showPlan } from './show-plan.ts'
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
    void openDrafts().then(() => setOpen(true))
    void openCatalog()
    prepareWorker()
    const stopSaving = saveDraftsBeforeLeaving()
    return () => {
      stopSaving()
      dropAllRuns()
    }
  }, [])
  useErrorMarks(editor)
  useEffect(() => void (isOpen && takeFragment(fragment.value)), [isOpen, fragment.value])

  const run = (statements: readonly Statement[]) => {
    if (missingKey.value) return
    const risk = statements.map(({ text }) => whatItRisks(text)).find(Boolean)
    const begin = () => {
      editor.current?.clearMarks()
      void runStatements({ draftId: currentDraft.value!.id, statements, as: currentRunAs() })
    }
    if (risk) ask({ risk, run: begin })
    else begin()
  }
  const sortOnServer = ({ text, from, draftId, as }: Run, order: ServerOrder) =>
    void runStatements({ draftId, statements: [{ text, from, to: from + text.length }], as, order })
  const runCurrent = () => {
    const statement = editor.current?.current()
    if (statement) run([statement])
  }
  const runAll = () => {
    const statements = editor.current?.all() ?? []
    run(isRunAsOne(statements) ? wholeOf(statements, currentDraft.value!.text) : statements)
  }
  const explain = (isAnalyzed: boolean) => () => {
    const statement = editor.current?.current()
    if (!statement || !currentDraft.value || missingKey.value) return
    void showPlan(currentDraft.value.id, statement, isAnalyzed)
  }
  const share = async () => {
    const text = currentDraft.value?.text ?? ''
    if (isTooLongToShare(text)) return toast('This draft is too long for a link')
    const address = `${location.origin}${hrefOf('/sql')}#s=${await packStatement(text)}`
    await copyText(address, 'Link copied. Opening it shows the draft and runs nothing.')
  }
  const copyCurl = () => {
    const statement = editor.current?.current()
    if (statement)
      void copyText(curlOf(statement.text, currentRunAs()), 'curl command copied, without the token')
  }
  useActs([
    { name: 'Run the statement at the cursor, or the selection', keys: 'Ctrl+Enter', run: runCurrent },
    { name: 'Run all statements', keys: 'Ctrl+Shift+Enter', run: runAll },
    { name: 'Stop the running statement', keys: 'Ctrl+.', run: stopRunning },
    { name: 'New draft', keys: 'Alt+n', run: () => void (isOpen && addDraft('')) },
    { name: 'Explain the statement', keys: 'Ctrl+Shift+e', run: explain(false) },
    { name: 'Explain analyze the statement', run: explain(true) },
    { name: 'History', run: () => setHistoryOpen(true) },
    { name: 'Copy the statement as curl', run: copyCurl },
    { name: 'Copy a link to this draft', run: share },
    { name: 'Refresh tables and columns', run: refreshCatalog },
  ])
  if (!isOpen) return <Skeleton />
  return (
    <div class="sql" style={{ '--editor': `${editorShare()}fr`, '--rest': `${100 - editorShare()}fr` }}>
      <h1 class="hidden-text">SQL</h1>
      <Toolbar
        runCurrent={runCurrent}
        runAll={runAll}
        more={[
          { label: 'Explain', run: explain(false) },
          { label: 'Explain analyze', run: explain(true) },
          { note: 'Explain analyze runs the statement, then rolls it back.' },
          'line',
          {
            label: 'Run all in one transaction',
            isOn: isOneTransaction.value,
            run: () => {
              isOneTransaction.value = !isOneTransaction.value
            },
          },
          {
            note: 'If off, each statement has its own session: SET and temporary tables do not carry over. Text with BEGIN always runs as one.',
          },
          'line',
          { label: 'History', run: () => setHistoryOpen(true) },
          { label: 'Copy as curl', run: copyCurl },
          { label: 'Copy a link to this draft', run: share },
          { label: 'Refresh tables and columns', run: () => void refreshCatalog() },
        ]}
      />
      <Editor
        ready={(handle) => {
          editor.current = handle
          handle.focus()
        }}
      />
      <Divider />
      <Results sortOnServer={sortOnServer} />
      {isHistoryOpen && <HistoryDialog close={() => setHistoryOpen(false)} />}
      {asked && (
        <Confirm
          title="Run this statement?"
          act="Run anyway"
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

/** Opens the statement of a shared link (`#s=…`) in a new draft, without running it. `#as=reader` chooses a key. */
async function takeFragment(text: string): Promise<void> {
  const wanted = new URLSearchParams(text.slice(1)).get('as')
  const shared = await unpackStatement(text)
  if (shared !== undefined) addDraft(shared, 'shared')
  else if (text.startsWith('#s=')) toast('The link is damaged or too long')
  if (shared !== undefined || wanted !== null) navigate('/sql', { replace: true })
  await chooseKeyOnceKnown(wanted)
}

/** The request as a curl command, which reads the token from a variable. */
const curlOf = (q: string, { credential: { username, token } }: RunAs) =>
  curlLine('query', { username, token: token === null ? null : undefined, form: { q } })

/** Marks the position of an error in the draft from which the statement came. */
function useErrorMarks(editor: { readonly current: EditorHandle | undefined }): void {
  useSignalEffect(() => {
    const run = runs.value.at(-1)
    const error = run?.result.error.value
    if (!run || !(error instanceof ApiError) || error.position === undefined) return
    if (run.draftId !== currentDraft.peek()?.id || run.isPlan) return
    // PostgreSQL counts characters, the editor UTF-16 units.
    const before = [...run.text].slice(0, error.position - 1).join('').length
    editor.current?.mark(
      run.from + before,
      error.hint ? `${error.message}\nHint: ${error.hint}` : error.message,
    )
  })
}
