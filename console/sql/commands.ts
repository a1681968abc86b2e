import { parametersOf } from '../../src/sql-text/named-values.ts'
import { type StatementRange, whatItRisks } from '../../src/sql-text/statements.ts'
import { refreshCatalog } from '../api/catalog.ts'
import { curlLine } from '../api/curl.ts'
import { session } from '../api/session.ts'
import { isTooLongToShare, packSchedule, packStatement } from '../api/share.ts'
import { hrefOf, navigate } from '../parts/browser/route.ts'
import { type Command, useCommands } from '../parts/commands.ts'
import { copyText } from '../parts/controls/copy-button.tsx'
import type { MenuItem } from '../parts/controls/menu.tsx'
import { toast } from '../parts/toast.tsx'
import { addDraft, currentDraft } from './drafts.ts'
import type { EditorAct, EditorHandle } from './editor/editor.tsx'
import { formatInEditor } from './format/format-in-editor.ts'
import { type BoundRange, withValues } from './parameters/given-values.ts'
import { currentRunAs, missingKey, type RunAs } from './run-as.ts'
import { runOrAsk, stopRunning } from './runs.ts'
import { savedDialog } from './saved/saved-queries.ts'
import { findInSchema } from './schema/sidebar.tsx'
import { showPlan } from './show-plan.ts'
import { isOneTransaction, isRunAsOne, wholeOf } from './transaction.ts'

export type EditorRef = Readonly<{ current: EditorHandle | undefined }>

/** A run that waits for the user to confirm its risk. */
export type RiskyRun = Readonly<{ risk: string; run: () => void }>

export type SqlCommands = Readonly<
  Record<
    | 'runCurrent'
    | 'runAll'
    | 'explain'
    | 'explainAnalyze'
    | 'openHistory'
    | 'copyCurl'
    | 'copyLink'
    | 'saveQuery'
    | 'openQuery'
    | 'format'
    | 'schedule',
    () => void
  >
> &
  Readonly<{ inEditor: (act: EditorAct) => void }>

/** The commands of the SQL page. `confirm` asks the user before a risky run. */
export function sqlCommands(
  editor: EditorRef,
  confirm: (risky: RiskyRun) => void,
  openHistory: () => void,
): SqlCommands {
  const run = (statements: readonly StatementRange[]) => {
    const bound = missingKey.value ? undefined : withValues(statements)
    if (!bound) return
    const risk = statements.map(({ text }) => whatItRisks(text)).find(Boolean)
    const begin = () => {
      editor.current?.clearMarks()
      void runOrAsk({ draftId: currentDraft.value!.id, statements: bound, as: currentRunAs() })
    }
    if (risk) confirm({ risk, run: begin })
    else begin()
  }
  const runAll = () => {
    const statements = editor.current?.all() ?? []
    if (!isRunAsOne(statements)) run(statements)
    else if (statements.some(({ text }) => parametersOf(text).length > 0)) toast(whyNotAsOne)
    else run(wholeOf(statements, currentDraft.value!.text))
  }
  const onCurrent = (act: (statement: StatementRange) => void) => () => {
    const statement = editor.current?.current()
    if (statement) act(statement)
  }
  return {
    runCurrent: onCurrent((statement) => run([statement])),
    runAll,
    explain: onCurrent((statement) => explain(statement, false)),
    explainAnalyze: onCurrent((statement) => explain(statement, true)),
    openHistory,
    copyCurl: onCurrent(copyCurl),
    copyLink: () => void copyLink(),
    saveQuery: onCurrent(askForName),
    openQuery: openSavedQuery,
    schedule: onCurrent((statement) => void openSchedule(statement)),
    inEditor: (act) => editor.current?.act(act),
    format: () => void formatInEditor(editor),
  }
}

const whyNotAsOne =
  'Statements with parameters do not run as one: write BEGIN before and COMMIT after them, and turn this off'

function askForName({ text }: StatementRange): void {
  if (session.value?.isMaster)
    savedDialog.value = { kind: 'save', text, name: currentDraft.value?.name ?? '' }
  else toast('To save a query, sign in with the Master key')
}

function openSavedQuery(): void {
  if (session.value?.isMaster) savedDialog.value = { kind: 'open' }
  else toast('To see the saved queries, sign in with the Master key')
}

/** Opens the form of a new schedule with the statement and its values. */
async function openSchedule(statement: StatementRange): Promise<void> {
  if (!session.value?.isMaster) return toast('To run it on a schedule, sign in with the Master key')
  const [one] = withValues([statement]) ?? []
  if (!one) return
  const wanted = { query: one.bound?.text ?? one.text, params: one.bound?.params }
  if (isTooLongToShare(JSON.stringify(wanted))) return toast('This statement is too long for a schedule')
  navigate(`/schedules/new#s=${await packSchedule(wanted)}`)
}

function explain(statement: StatementRange, isAnalyzed: boolean): void {
  if (!currentDraft.value || missingKey.value) return
  const [bound] = withValues([statement]) ?? []
  if (bound) void showPlan(currentDraft.value.id, bound, isAnalyzed)
}

function copyCurl(statement: StatementRange): void {
  const [bound] = withValues([statement]) ?? []
  if (bound) void copyText(curlOf(bound, currentRunAs()), 'curl command copied, without the token')
}

/** The request as a curl command, which reads the token from a variable. */
const curlOf = ({ text, bound }: BoundRange, { credential: { username, token } }: RunAs) =>
  curlLine('query', {
    username,
    token: token === null ? null : undefined,
    form: bound ? { q: bound.text, params: JSON.stringify(bound.params) } : { q: text },
  })

async function copyLink(): Promise<void> {
  const text = currentDraft.value?.text ?? ''
  if (isTooLongToShare(text)) return toast('This draft is too long for a link')
  const address = `${location.origin}${hrefOf('/sql')}#s=${await packStatement(text)}`
  await copyText(address, 'Link copied. Opening it shows the draft and runs nothing.')
}

export function useSqlShortcuts(commands: SqlCommands, isOpen: boolean): void {
  useCommands([
    {
      name: 'Run the statement at the cursor, or the selection',
      keys: 'Ctrl+Enter',
      run: commands.runCurrent,
    },
    { name: 'Run all statements', keys: 'Ctrl+Shift+Enter', run: commands.runAll },
    { name: 'Stop the running statement', keys: 'Ctrl+.', run: stopRunning },
    { name: 'New draft', keys: 'Alt+n', run: () => void (isOpen && addDraft('')) },
    { name: 'Find in the schema', keys: 'Alt+s', run: findInSchema },
    { name: 'Explain the statement', keys: 'Ctrl+Shift+e', run: commands.explain },
    { name: 'Explain analyze the statement', run: commands.explainAnalyze },
    { name: 'Format the statement, or the selection', keys: 'Ctrl+Shift+f', run: commands.format },
    { name: 'Save the statement as a query', keys: 'Ctrl+s', run: commands.saveQuery },
    { name: 'Open or insert a saved query', run: commands.openQuery },
    { name: 'Run the statement on a schedule', run: commands.schedule },
    { name: 'History', run: commands.openHistory },
    { name: 'Copy the statement as curl', run: commands.copyCurl },
    { name: 'Copy a link to this draft', run: commands.copyLink },
    { name: 'Refresh tables and columns', run: refreshCatalog },
    ...editorCommands(commands.inEditor),
  ])
}

/** Keys of CodeMirror, listed so that the help and the palette have them. */
const editorCommands = (run: (act: EditorAct) => void): readonly Command[] =>
  (
    [
      ['Find and replace in the editor', 'Ctrl+f', 'find'],
      ['Select the next occurrence too', 'Ctrl+d', 'nextOccurrence'],
      ['Select all occurrences', 'Ctrl+Shift+l', 'allOccurrences'],
      ['Add a cursor above', 'Ctrl+Alt+ArrowUp', 'cursorAbove'],
      ['Add a cursor below (with the mouse: Alt+click)', 'Ctrl+Alt+ArrowDown', 'cursorBelow'],
      ['Comment lines, or uncomment them', 'Ctrl+/', 'comment'],
    ] as const
  ).map(([name, keys, act]) => ({ name, keys, isOfEditor: true, run: () => run(act) }))

/** The items of the menu behind `⋯`. */
export const moreItems = (commands: SqlCommands): readonly MenuItem[] => [
  { label: 'Format', run: commands.format },
  'line',
  { label: 'Explain', run: commands.explain },
  { label: 'Explain analyze', run: commands.explainAnalyze },
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
    note: 'If off, each statement has its own session: SET and temporary tables do not carry over. From BEGIN to COMMIT all statements share one.',
  },
  'line',
  { label: 'Run on a schedule…', run: commands.schedule },
  'line',
  { label: 'Save query…', run: commands.saveQuery },
  { label: 'Open or insert query…', run: commands.openQuery },
  { note: 'Saved queries are in the account: on every machine, and for programs that run them by name.' },
  'line',
  { label: 'History', run: commands.openHistory },
  { label: 'Copy as curl', run: commands.copyCurl },
  { label: 'Copy a link to this draft', run: commands.copyLink },
  { label: 'Refresh tables and columns', run: () => void refreshCatalog() },
]
