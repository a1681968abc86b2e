import { signal } from '@preact/signals'
import { changesCatalog, type StatementRange } from '../../src/sql-text/statements.ts'
import { ApiError } from '../api/api-error.ts'
import { noteCatalogChange } from '../api/catalog.ts'
import type { Credential } from '../api/credential.ts'
import { noteInHistory } from '../api/history.ts'
import { askToSignIn, session } from '../api/session.ts'
import { serviceNow } from '../parts/browser/clock.ts'
import { plural } from '../parts/format.ts'
import { tell } from '../parts/live.tsx'
import { toast } from '../parts/toast.tsx'
import { type Feed, Result, type ServerOrder } from '../result/result.ts'
import { ResultLook } from '../result/result-look.ts'
import { ownKey } from './run-as.ts'
import { isForSession, noteTransaction, otherHolder, takeSession } from './transaction.ts'

export type RunAs = Readonly<{ label: string; credential: Credential & { kind: 'key' } }>

/** One statement that was run, with its result. */
export type Run = Readonly<{
  id: number
  text: string
  /** The draft it came from, to mark an error there. */
  draftId: string
  from: number
  as: RunAs
  result: Result
  look: ResultLook
  /** A plan is shown as a table of its nodes. */
  isPlan: boolean
  /** Makes PostgreSQL refuse more than one statement. */
  isSingle?: boolean | undefined
  /** The order that the service was asked for. */
  order?: ServerOrder | undefined
  /** It ran in the session of a transaction. */
  isInSession?: boolean | undefined
}>

export type ToRun = Readonly<{
  draftId: string
  statements: readonly StatementRange[]
  as: RunAs
  isPlan?: boolean
  isSingle?: boolean
  order?: ServerOrder
}>

export const runs = signal<readonly Run[]>([])
export const shownRun = signal<number | undefined>(undefined)
export const pinned = signal<ReadonlySet<number>>(new Set())
export const isRunning = signal(false)

let lastId = 0
let isStopped = false

/**
 * Runs the statements in order, each in its own request and session; those of a transaction in one session. Ends at the
 * first that fails or is stopped.
 */
export async function runStatements({
  draftId,
  statements,
  as,
  isPlan = false,
  isSingle,
  order,
}: ToRun): Promise<void> {
  if (isRunning.value) return toast('A statement is running. Press Stop first')
  const isInSession = !isPlan && !order && isForSession(statements)
  const other = isInSession && otherHolder(as)
  if (other) return toast(`A transaction is open as ${other}. Commit it or roll it back first`)
  isRunning.value = true
  isStopped = false
  dropUnpinned()
  try {
    for (const { text, from } of statements) {
      const run = await runOne({ text, from, draftId, as, isPlan, isSingle, order, isInSession })
      noteTransaction()
      if (isStopped || run.result.state.value !== 'done') break
    }
  } finally {
    isRunning.value = false
  }
}

/** Stops the statement in the database, and runs no further ones. */
export function stopRunning(): void {
  isStopped = true
  for (const { result } of runs.value) if (result.state.value === 'running') result.stop()
}

export function togglePinned(id: number): void {
  const next = new Set(pinned.value)
  if (!next.delete(id)) next.add(id)
  pinned.value = next
}

export function closeRun(id: number): void {
  runs.value.find((run) => run.id === id)?.result.drop()
  runs.value = runs.value.filter((run) => run.id !== id)
  if (shownRun.value === id) shownRun.value = runs.value.at(-1)?.id
}

export function dropAllRuns(): void {
  for (const { id } of runs.value) closeRun(id)
}

function dropUnpinned(): void {
  for (const { id } of runs.value) if (!pinned.value.has(id)) closeRun(id)
}

type NewRun = Omit<Run, 'id' | 'result' | 'look'>

async function runOne(one: NewRun): Promise<Run> {
  const run = openRun(one)
  const isOwnKey = !one.isInSession && one.as.credential.token === session.peek()?.token
  await run.result.ended
  const { error, state, progress, elapsedMs } = run.result
  // The key stopped working: run the statement again after a new sign-in.
  const isRefused = error.value instanceof ApiError && error.value.status === 401
  if (isRefused && isOwnKey && (await askToSignIn())) {
    closeRun(run.id)
    return runOne({ ...one, as: ownKey() })
  }
  const { rows } = progress.value
  const ms = elapsedMs.value ?? 0
  tell(error.value ? error.value.message : `${plural(rows, 'row')} in ${Math.round(ms)} ms`)
  await noteInHistory({
    text: one.text,
    at: serviceNow(),
    as: one.as.label,
    outcome: state.value === 'failed' ? 'failed' : state.value === 'done' ? 'done' : 'stopped',
    rows,
    ms,
    ...(error.value ? { error: error.value.message } : {}),
  })
  if (!error.value && changesCatalog(one.text)) noteCatalogChange()
  return run
}

function openRun(one: NewRun): Run {
  const extras = { ...one.order, ...(one.isSingle && { params: [] }) }
  const { text, as, isInSession } = one
  const result = new Result(text, as.credential, extras, isInSession ? feedOf(text, as) : undefined)
  const run = { ...one, id: ++lastId, result, look: new ResultLook(result) }
  runs.value = [...runs.value, run]
  shownRun.value = run.id
  return run
}

const feedOf =
  (text: string, as: RunAs): Feed =>
  async (signal) =>
    (await takeSession(as, signal)).download(text, { format: 'json', signal })
