import { computed, effect, signal, untracked } from '@preact/signals'
import type { SqlValue } from '../../src/client/api/sql-statement.ts'
import { defaultKeyName } from '../../src/contract/key-names.ts'
import { changesCatalog, splitStatements } from '../../src/sql-text/statements.ts'
import { ApiError } from '../api/api-error.ts'
import { noteCatalogChange } from '../api/catalog.ts'
import { noteInHistory } from '../api/history/history.ts'
import { askToSignIn, session } from '../api/session.ts'
import { serviceNow } from '../parts/browser/clock.ts'
import { path } from '../parts/browser/route.ts'
import { plural, shorten } from '../parts/format.ts'
import { tell } from '../parts/live.tsx'
import { toast } from '../parts/toast.tsx'
import { type Feed, Result } from '../result/result.ts'
import { ResultLook } from '../result/result-look.ts'
import { changeDraft, drafts } from './drafts.ts'
import { dropFormer, holdFormer } from './former-results.ts'
import type { Batch, Run, ToRun } from './run.ts'
import { ownKey, type RunAs } from './run-as.ts'
import {
  isForSession,
  leaveTransaction,
  noteTransaction,
  otherHolder,
  takeSession,
  transaction,
} from './transaction.ts'

/** They stay while another page of the console is open. */
export const runs = signal<readonly Run[]>([])
export const shownRun = signal<number | undefined>(undefined)
export const pinned = signal<ReadonlySet<number>>(new Set())
/** Statements to run that wait for the running one. */
export const heldBack = signal<ToRun | undefined>(undefined)

const batches = signal<readonly Batch[]>([])
export const isRunning = computed(() => batches.value.length > 0)

let lastId = 0

/** The number of a new tab. */
export const nextId = () => ++lastId

/** Shows a stored result, in its place among the tabs. It is pinned. */
export function addStored(
  stored: Pick<Run, 'id' | 'name' | 'text' | 'bound' | 'at' | 'formerMs' | 'as' | 'isPlan'>,
  rows: ArrayBuffer,
): void {
  const feed: Feed = async () => piecesOf(rows)
  const result = new Result(stored.text, stored.as.credential, {}, feed)
  const batch = { isInSession: false, isStopped: false }
  const run: Run = { ...stored, draftId: '', from: 0, result, look: new ResultLook(result), batch }
  runs.value = [...runs.value, run].sort((a, b) => a.id - b.id)
  pinned.value = new Set(pinned.value).add(run.id)
  shownRun.value = run.id
}

/** In pieces, so that the first rows are shown before the last are read. */
async function* piecesOf(rows: ArrayBuffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < rows.byteLength; at += pieceBytes)
    yield new Uint8Array(rows.slice(at, at + pieceBytes))
}

const pieceBytes = 2_000_000

/** Runs statements, or asks first if another statement is running. */
export function runOrAsk(toRun: ToRun): Promise<void> {
  if (!isRunning.value) return runBatch(toRun)
  heldBack.value = toRun
  return Promise.resolve()
}

/**
 * Runs the statements in order, each in its own request and session; those of a transaction in one session. Ends at the
 * first that fails or is stopped.
 */
export async function runBatch(toRun: ToRun): Promise<void> {
  const { draftId, statements, as, name, isPlan = false, isSingle, order, feed } = toRun
  const isInSession = isForOneSession(toRun)
  const other = isInSession && otherHolder(as)
  if (other) return toast(`A transaction is open as ${other}. Commit it or roll it back first`)
  const batch: Batch = { isInSession, isStopped: false }
  dropUnpinned()
  batches.value = [...batches.value, batch]
  try {
    for (const { text, bound, from } of statements) {
      const run = await runOne({
        name: name ?? firstWords(text),
        text,
        bound,
        feed,
        from,
        draftId,
        as,
        isPlan,
        isSingle,
        order,
        batch,
      })
      noteTransaction()
      if (batch.isStopped || run.result.state.value !== 'done') break
    }
  } finally {
    batches.value = batches.value.filter((each) => each !== batch)
  }
}

const isForOneSession = ({ statements, isPlan, order }: ToRun) =>
  !isPlan && !order && isForSession(statements)

/** The statements of a session run one after another; others can run concurrently. */
export const canRunBeside = (toRun: ToRun) =>
  batches.value.length < mostBatches &&
  !(isForOneSession(toRun) && batches.value.some(({ isInSession }) => isInSession))

/** A browser opens six connections to a service; pages and jobs need some. */
const mostBatches = 3

const firstWords = (text: string) => shorten(splitStatements(text)[0]?.text ?? text, 40)

/** Stops the statement in the database and runs no further ones: those of the shown result, or the newest. */
export function stopRunning(): void {
  const shown = runs.value.find(({ id }) => id === shownRun.value)?.batch
  const batch = shown && batches.value.includes(shown) ? shown : batches.value.at(-1)
  if (batch) stopBatch(batch)
}

/** Resolves when nothing runs any more. */
export async function stopAll(): Promise<void> {
  const running = runs.value.filter(isRunOpen)
  for (const { batch } of running) stopBatch(batch)
  await Promise.all(running.map(({ result }) => result.ended))
}

function stopBatch(batch: Batch): void {
  batch.isStopped = true
  for (const run of runs.value) if (run.batch === batch && isRunOpen(run)) run.result.stop()
}

export const isRunOpen = ({ result }: Run) => result.state.value === 'running'

export function togglePinned(id: number): void {
  const next = new Set(pinned.value)
  if (!next.delete(id)) next.add(id)
  pinned.value = next
}

/** Stops the statement if it is still running. */
export function closeRun(id: number): void {
  const run = runs.value.find((each) => each.id === id)
  if (!run) return
  if (isRunOpen(run)) run.batch.isStopped = true
  run.result.drop()
  hideRun(run)
}

function hideRun(run: Run): void {
  runs.value = runs.value.filter((each) => each !== run)
  if (shownRun.value === run.id) shownRun.value = runs.value.at(-1)?.id
}

/** Stores their answers for a comparison with the next run of the same statement. */
function dropUnpinned(): void {
  for (const run of runs.value) {
    if (pinned.value.has(run.id) || batches.value.includes(run.batch)) continue
    hideRun(run)
    void holdFormer(run).finally(() => run.result.drop())
  }
}

/** A new token of the same kind of key is the same person. */
export const person = computed(
  () =>
    session.value && `${session.value.username} ${session.value.isMaster} ${session.value.token === null}`,
)
let owner = person.peek()

/** No user sees the results of another, not even before the page has reloaded. */
effect(() => {
  if (person.value === owner) return
  owner = person.value
  untracked(() => {
    for (const { id } of runs.value) closeRun(id)
    dropFormer()
    heldBack.value = undefined
    leaveTransaction()
  })
})

/** The browser asks before it closes a tab where a statement runs or a transaction is open. */
effect(() => {
  if (!isRunning.value && transaction.value?.state !== 'open') return
  const ask = (event: Event) => event.preventDefault()
  addEventListener('beforeunload', ask)
  return () => removeEventListener('beforeunload', ask)
})

type NewRun = Omit<Run, 'id' | 'result' | 'look' | 'at'>

async function runOne(one: NewRun): Promise<Run> {
  const run = startRun(one)
  const startedBy = person.peek()
  const isOwnKey = !one.batch.isInSession && one.as.credential.token === session.peek()?.token
  await run.result.ended
  const { error, state, progress, elapsedMs } = run.result
  // The key stopped working: run the statement again after a new sign-in.
  const isRefused = error.value instanceof ApiError && error.value.status === 401
  if (isRefused && isOwnKey && (await askToSignIn())) {
    closeRun(run.id)
    return runOne({ ...one, as: ownKey() })
  }
  if (person.peek() !== startedBy) return run
  const { rows } = progress.value
  const ms = elapsedMs.value ?? 0
  const outcome = state.value === 'failed' ? 'failed' : state.value === 'done' ? 'done' : 'stopped'
  tell(error.value ? error.value.message : `${plural(rows, 'row')} in ${Math.round(ms)} ms`)
  if (path.peek() !== '/sql') toast(`${run.id} · ${run.name}: ${outcome}`)
  void noteInHistory({
    text: one.text,
    at: serviceNow(),
    as: one.as.label,
    outcome,
    rows,
    ms,
    ...(error.value ? { error: error.value.message, code: codeOf(error.value) } : {}),
    key: otherKeyOf(one.as),
  })
  if (!error.value && changesCatalog(one.text)) noteCatalogChange()
  return run
}

const codeOf = (error: unknown) => (error instanceof ApiError ? (error.sqlstate ?? error.code) : undefined)

/** The name of the key, if it is not the session's. */
function otherKeyOf({ label, credential }: RunAs): string | undefined {
  if (credential.token === session.peek()?.token) return undefined
  return credential.token === null ? defaultKeyName : label
}

function startRun(one: NewRun): Run {
  const { as, batch, bound } = one
  const text = bound?.text ?? one.text
  const params = bound?.params ?? (one.isSingle ? [] : undefined)
  const feed = one.feed ?? (batch.isInSession ? feedOf(text, as, bound?.params) : undefined)
  const result = new Result(text, as.credential, { ...one.order, ...(params && { params }) }, feed)
  const run = { ...one, id: nextId(), at: serviceNow(), result, look: lookOf(result, one.draftId) }
  const isFirst = !runs.value.some((each) => each.batch === batch)
  const shown = runs.value.find(({ id }) => id === shownRun.value)
  runs.value = [...runs.value, run]
  // A later statement does not replace a result that the user chose to see.
  if (isFirst || !shown || shown.batch === batch) shownRun.value = run.id
  return run
}

/** A result is drawn as its draft says; another choice is stored with the draft. */
const lookOf = (result: Result, draftId: string) =>
  new ResultLook(result, {
    chart: drafts.peek().find(({ id }) => id === draftId)?.chart,
    keepChart: (chart) => changeDraft(draftId, { chart }),
  })

const feedOf =
  (text: string, as: RunAs, params?: readonly unknown[]): Feed =>
  async (signal) =>
    (await takeSession(as, signal)).download(text, {
      format: 'json',
      signal,
      ...(params && { params: params as readonly SqlValue[] }),
    })
