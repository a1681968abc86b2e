import { useSignalEffect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/api-error.ts'
import { openCatalog } from '../api/catalog.ts'
import { unpackStatement } from '../api/share.ts'
import { fragment, navigate } from '../parts/browser/route.ts'
import { adoptStyles } from '../parts/browser/styles.ts'
import { Confirm } from '../parts/controls/dialog.tsx'
import { Skeleton } from '../parts/loading.tsx'
import { toast } from '../parts/toast.tsx'
import type { ServerOrder } from '../result/result.ts'
import { prepareWorker } from '../result/worker/spare-worker.ts'
import { type EditorRef, moreItems, type RiskyRun, sqlCommands, useSqlShortcuts } from './commands.ts'
import { Divider, editorShare } from './divider.tsx'
import { addDraft, currentDraft, openDrafts, saveDraftsBeforeLeaving } from './drafts.ts'
import type { EditorHandle } from './editor/editor.tsx'
import { LazyEditor } from './editor/lazy-editor.tsx'
import { HistoryDialog } from './history-dialog.tsx'
import { placeInText } from './parameters/bind.ts'
import { ParameterFields } from './parameters/parameter-fields.tsx'
import { openKeptResults } from './results/kept-tabs.ts'
import { Results } from './results/results.tsx'
import type { Run } from './run.ts'
import { chooseKeyOnceKnown } from './run-as.ts'
import { runOrAsk, runs } from './runs.ts'
import { OpenDialog } from './saved/open-dialog.tsx'
import { SaveDialog } from './saved/save-dialog.tsx'
import { savedDialog } from './saved/saved-queries.ts'
import { isSchemaShown, SchemaSidebar } from './schema/sidebar.tsx'
import css from './sql.css' with { type: 'text' }
import { Toolbar } from './toolbar.tsx'
import { WhileRunning } from './while-running.tsx'

adoptStyles(css)

export default function SqlPage() {
  const [isOpen, setOpen] = useState(false)
  const [risky, confirm] = useState<RiskyRun | undefined>(undefined)
  const [isHistoryOpen, setHistoryOpen] = useState(false)
  const editor = useRef<EditorHandle>(undefined)
  useEffect(() => {
    void openDrafts().then(() => setOpen(true))
    void openCatalog()
    void openKeptResults()
    prepareWorker()
    return saveDraftsBeforeLeaving()
  }, [])
  useErrorMarks(editor)
  useEffect(() => void (isOpen && takeFragment(fragment.value)), [isOpen, fragment.value])
  const commands = sqlCommands(editor, confirm, () => setHistoryOpen(true))
  useSqlShortcuts(commands, isOpen)
  if (!isOpen) return <Skeleton />
  const finishConfirm = (isConfirmed: boolean) => {
    confirm(undefined)
    if (isConfirmed) risky?.run()
    editor.current?.focus()
  }
  return (
    <div class="sql" style={{ '--editor': `${editorShare()}fr`, '--rest': `${100 - editorShare()}fr` }}>
      <h1 class="hidden-text">SQL</h1>
      <Toolbar runCurrent={commands.runCurrent} runAll={commands.runAll} more={moreItems(commands)} />
      {isSchemaShown() && (
        <SchemaSidebar
          insert={(text, back) => editor.current?.insert(text, back)}
          focusEditor={() => editor.current?.focus()}
        />
      )}
      <div class="editing">
        <LazyEditor
          ready={(handle) => {
            editor.current = handle
            handle.focus()
          }}
        />
        <ParameterFields />
      </div>
      <Divider />
      <Results sortOnServer={sortOnServer} />
      <WhileRunning />
      {isHistoryOpen && <HistoryDialog close={() => setHistoryOpen(false)} />}
      <SavedDialog insert={(text) => editor.current?.insert(text)} />
      {risky && (
        <Confirm title="Run this statement?" act="Run anyway" onDone={finishConfirm}>
          <p>{risky.risk}</p>
        </Confirm>
      )}
    </div>
  )
}

function SavedDialog({ insert }: Readonly<{ insert: (text: string) => void }>) {
  const dialog = savedDialog.value
  const close = () => {
    savedDialog.value = undefined
  }
  if (dialog?.kind === 'save') return <SaveDialog text={dialog.text} name={dialog.name} close={close} />
  return dialog ? <OpenDialog close={close} insert={insert} /> : null
}

const sortOnServer = ({ text, bound, from, draftId, as }: Run, order: ServerOrder) =>
  void runOrAsk({ draftId, statements: [{ text, bound, from, to: from + text.length }], as, order })

/** Opens the statement of a shared link (`#s=…`) in a new draft, without running it. `#as=reader` chooses a key. */
async function takeFragment(text: string): Promise<void> {
  const wanted = new URLSearchParams(text.slice(1)).get('as')
  const shared = await unpackStatement(text)
  if (shared !== undefined) addDraft(shared, 'shared')
  else if (text.startsWith('#s=')) toast('The link is damaged or too long')
  if (shared !== undefined || wanted !== null) navigate('/sql', { replace: true })
  await chooseKeyOnceKnown(wanted)
}

/** Marks the position of an error in the draft from which the statement came. */
function useErrorMarks(editor: EditorRef): void {
  useSignalEffect(() => {
    const run = runs.value.at(-1)
    const error = run?.result.error.value
    if (!run || !(error instanceof ApiError) || error.position === undefined) return
    if (run.draftId !== currentDraft.peek()?.id || run.isPlan) return
    // PostgreSQL counts characters, the editor UTF-16 units.
    const sent = [...(run.bound?.text ?? run.text)].slice(0, error.position - 1).join('').length
    const before = run.bound ? placeInText(run.bound, sent) : sent
    editor.current?.mark(
      run.from + before,
      error.hint ? `${error.message}\nHint: ${error.hint}` : error.message,
    )
  })
}
