import { computed, signal } from '@preact/signals'
import { randomId } from '../../src/client/http/random-id.ts'
import type { ChartDefinition } from '../../src/contract/charts.ts'
import { changeKept, leaveNote, readNotes } from '../api/kept.ts'
import type { GivenValues } from './parameters/bind.ts'

/** `values`: of its parameters. `chart`: how its results are drawn, if the user has chosen. */
export type Draft = Readonly<{
  id: string
  name: string
  text: string
  values?: GivenValues | undefined
  chart?: ChartDefinition | undefined
}>

type KeptDrafts = Readonly<{ drafts: readonly Draft[]; currentId: string; lastNumber: number }>

/** The changes of this tab. Only they are written, so that tabs do not overwrite each other. */
type Changes = KeptDrafts & Readonly<{ closed: readonly string[] }>

/** The texts in the editor. Stored in this browser while the user types. */
export const drafts = signal<readonly Draft[]>([])
export const currentId = signal('')
export const currentDraft = computed(() => drafts.value.find(({ id }) => id === currentId.value))

const storageName = 'drafts'
const saveMs = 300
let lastNumber = 0
const changed = new Set<string>()
const closed = new Set<string>()
const storing = new Set<Changes>()
let timer: ReturnType<typeof setTimeout> | undefined

export async function openDrafts(): Promise<void> {
  const { notes, forget } = readNotes<Changes>(storageName)
  const kept = await changeKept<KeptDrafts>(storageName, (former = none) =>
    withCurrent(notes.reduce(merge, former)),
  )
  forget()
  drafts.value = kept.drafts
  currentId.value = kept.currentId
  lastNumber = kept.lastNumber
}

const none: KeptDrafts = { drafts: [], currentId: '', lastNumber: 0 }

/** In the transaction that reads the drafts, so that two tabs that open at once share the first draft. */
function withCurrent(kept: KeptDrafts): KeptDrafts {
  if (kept.drafts.some(({ id }) => id === kept.currentId)) return kept
  if (kept.drafts[0]) return { ...kept, currentId: kept.drafts[0].id }
  const lastNumber = kept.lastNumber + 1
  const first = { id: randomId(), name: `query ${lastNumber}`, text: '' }
  return { drafts: [first], currentId: first.id, lastNumber }
}

function merge(former: KeptDrafts, changes: Changes): KeptDrafts {
  const left = former.drafts.filter(({ id }) => !changes.closed.includes(id))
  const isNew = ({ id }: Draft) => !left.some((draft) => draft.id === id)
  return {
    drafts: [
      ...left.map((draft) => changes.drafts.find(({ id }) => id === draft.id) ?? draft),
      ...changes.drafts.filter(isNew),
    ],
    currentId: changes.currentId,
    lastNumber: Math.max(former.lastNumber, changes.lastNumber),
  }
}

export function addDraft(
  text: string,
  name?: string,
  { values, chart }: Pick<Draft, 'values' | 'chart'> = {},
): void {
  lastNumber++
  const draft = { id: randomId(), name: name ?? `query ${lastNumber}`, text, values, chart }
  drafts.value = [...drafts.value, draft]
  changed.add(draft.id)
  currentId.value = draft.id
  save()
}

export function chooseDraft(id: string): void {
  currentId.value = id
  save()
}

export function changeDraft(id: string, change: Partial<Omit<Draft, 'id'>>): void {
  drafts.value = drafts.value.map((draft) => (draft.id === id ? { ...draft, ...change } : draft))
  changed.add(id)
  save()
}

/** Closing the last draft opens an empty one. */
export function closeDraft(id: string): void {
  const at = drafts.value.findIndex((draft) => draft.id === id)
  drafts.value = drafts.value.filter((draft) => draft.id !== id)
  closed.add(id)
  if (drafts.value.length === 0) addDraft('')
  else if (currentId.value === id) currentId.value = drafts.value[Math.max(0, at - 1)]!.id
  save()
}

/** The changes that are not stored yet. */
function takeChanges(): Changes {
  const changes = {
    drafts: drafts.value.filter(({ id }) => changed.has(id)),
    closed: [...closed],
    currentId: currentId.value,
    lastNumber,
  }
  changed.clear()
  closed.clear()
  return changes
}

async function store(changes: Changes): Promise<void> {
  storing.add(changes)
  await changeKept<KeptDrafts>(storageName, (former = none) => merge(former, changes))
  storing.delete(changes)
}

function save(): void {
  timer ??= setTimeout(() => {
    timer = undefined
    void store(takeChanges())
  }, saveMs)
}

/** Stores changes at once when the tab is closed or hidden. Returns a function that stops this. */
export function saveDraftsBeforeLeaving(): () => void {
  const hide = () => {
    if (timer === undefined && storing.size === 0) return
    clearTimeout(timer)
    timer = undefined
    for (const unfinished of storing) {
      for (const { id } of unfinished.drafts) changed.add(id)
      for (const id of unfinished.closed) closed.add(id)
    }
    const changes = takeChanges()
    void store(changes).then(leaveNote(storageName, changes))
  }
  document.addEventListener('visibilitychange', hide)
  addEventListener('pagehide', hide)
  return () => {
    hide()
    document.removeEventListener('visibilitychange', hide)
    removeEventListener('pagehide', hide)
  }
}
