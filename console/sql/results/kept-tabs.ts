import { effect, signal } from '@preact/signals'
import { randomId } from '../../../src/client/http/random-id.ts'
import { session } from '../../api/session.ts'
import { formatBytes, formatTime, plural } from '../../parts/format.ts'
import {
  forgetKeptResult,
  type KeptResult,
  keepResult,
  mostKept,
  mostKeptBytes,
  readKeptResults,
  readKeptRows,
} from '../../result/kept-results.ts'
import type { Run } from '../run.ts'
import { addStored, closeRun, nextId, person, pinned, runs, togglePinned } from '../runs.ts'

/** A pinned result stored by this browser, whose rows are not read yet. `id`: of its tab. */
export type KeptTab = Readonly<{ id: number; about: KeptResult }>

export const keptTabs = signal<readonly KeptTab[]>([])

/** A message for the user about a result that is not stored. */
export const keptNote = signal<string | undefined>(undefined)

/** The tabs whose results are stored, with their ids there. */
const storedAs = new Map<number, string>()
let openedFor: string | null | undefined

/** Once per user. */
export async function openKeptResults(): Promise<void> {
  if (openedFor === person.peek()) return
  openedFor = person.peek()
  const kept = await readKeptResults()
  if (openedFor === person.peek()) keptTabs.value = kept.map((about) => ({ id: nextId(), about }))
}

/** No user sees the results of another. */
effect(() => {
  if (person.value === openedFor) return
  keptTabs.value = []
  keptNote.value = undefined
  storedAs.clear()
})

/** Reads the rows. Downloads need the key, which is looked up by its name when they are requested. */
export async function showKept({ id, about }: KeptTab): Promise<void> {
  const rows = await readKeptRows(about.id)
  if (!keptTabs.value.some((each) => each.id === id)) return
  keptTabs.value = keptTabs.value.filter((each) => each.id !== id)
  if (!rows) {
    keptNote.value = `${about.name} is no longer stored in this browser.`
    return
  }
  const { name, text, bound, at, ms, as, isPlan } = about
  const { username } = session.value!
  storedAs.set(id, about.id)
  addStored(
    {
      id,
      ...{ name, text, at, isPlan },
      formerMs: ms,
      bound: bound && { ...bound, pieces: [] },
      as: { label: as, credential: { kind: 'key', username, token: null } },
    },
    rows,
  )
}

/** A pinned result stays when another statement runs, and over a reload of the page. */
export async function togglePin(run: Run): Promise<void> {
  togglePinned(run.id)
  keptNote.value = undefined
  if (!pinned.peek().has(run.id)) return forgetStored(run.id)
  await run.result.ended
  const isWanted = () => pinned.peek().has(run.id) && runs.peek().includes(run)
  if (!isWanted()) return
  const { bytes } = run.result.progress.peek()
  if (run.result.state.peek() !== 'done') return noteUnkept('only a complete result is kept over a reload')
  if (bytes > mostKeptBytes)
    return noteUnkept(`it has ${formatBytes(bytes)}, and ${limits} are kept over a reload`)
  const rows = await (await run.result.ask('answer', {})).arrayBuffer()
  const about = aboutOf(run)
  const left = isWanted() ? await keepResult(about, rows) : []
  if (!left) return noteUnkept('this browser refuses to store it')
  storedAs.set(run.id, about.id)
  // It was unpinned or closed while it was stored.
  if (!isWanted()) return forgetStored(run.id)
  noteLeft(left)
}

/** Closes the tab of a result and deletes the stored one. */
export function closePinned(id: number): void {
  closeRun(id)
  void forgetStored(id)
}

export function closeKept({ id, about }: KeptTab): void {
  keptTabs.value = keptTabs.value.filter((each) => each.id !== id)
  void forgetKeptResult(about.id)
}

async function forgetStored(id: number): Promise<void> {
  const stored = storedAs.get(id)
  storedAs.delete(id)
  if (stored !== undefined) await forgetKeptResult(stored)
}

function aboutOf({ name, text, bound, at, as, result, isPlan, formerMs }: Run): KeptResult {
  const { rows, bytes } = result.progress.peek()
  return {
    id: randomId(),
    ...{ name, text, at, rows, bytes, isPlan },
    bound: bound && { text: bound.text, params: bound.params },
    as: as.label,
    ms: formerMs ?? result.elapsedMs.peek() ?? 0,
  }
}

function noteUnkept(why: string): void {
  keptNote.value = `Pinned in this tab only: ${why}.`
}

function noteLeft(left: readonly KeptResult[]): void {
  const [oldest] = left
  if (!oldest) return
  const gone = new Set(left.map(({ id }) => id))
  keptTabs.value = keptTabs.value.filter(({ about }) => !gone.has(about.id))
  for (const [id, stored] of storedAs) if (gone.has(stored)) storedAs.delete(id)
  const others = left.length > 1 ? ` and ${plural(left.length - 1, 'other')}` : ''
  keptNote.value = `No longer kept over a reload, to make room: ${oldest.name} of ${formatTime(oldest.at)}${others}. This browser keeps ${limits}.`
}

const limits = `${formatBytes(mostKeptBytes)} and ${mostKept} results in all`
