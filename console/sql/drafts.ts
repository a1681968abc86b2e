import { computed, signal } from '@preact/signals'
import { keep, keepBeforeLeaving, readKept } from '../api/kept.ts'

export type Draft = Readonly<{ id: string; name: string; text: string }>

type KeptDrafts = Readonly<{ drafts: readonly Draft[]; currentId: string; lastNumber: number }>

/** What somebody is writing: kept in this browser while they type, so that no tab that closes takes it along. */
export const drafts = signal<readonly Draft[]>([])
export const currentId = signal('')
export const currentDraft = computed(() => drafts.value.find(({ id }) => id === currentId.value))

const storageName = 'drafts'
const saveMs = 300
let lastNumber = 0
let timer: ReturnType<typeof setTimeout> | undefined

export async function openDrafts(): Promise<void> {
  const former = await readKept<KeptDrafts>(storageName)
  drafts.value = former?.drafts ?? []
  currentId.value = former?.currentId ?? ''
  lastNumber = former?.lastNumber ?? 0
  if (!currentDraft.value) {
    if (drafts.value[0]) currentId.value = drafts.value[0].id
    else addDraft('')
  }
}

export function addDraft(text: string, name?: string): void {
  lastNumber++
  const draft = { id: crypto.randomUUID(), name: name ?? `query ${lastNumber}`, text }
  drafts.value = [...drafts.value, draft]
  currentId.value = draft.id
  save()
}

export function chooseDraft(id: string): void {
  currentId.value = id
  save()
}

export function changeDraft(id: string, change: Partial<Pick<Draft, 'name' | 'text'>>): void {
  drafts.value = drafts.value.map((draft) => (draft.id === id ? { ...draft, ...change } : draft))
  save()
}

/** There is always one. */
export function closeDraft(id: string): void {
  const at = drafts.value.findIndex((draft) => draft.id === id)
  drafts.value = drafts.value.filter((draft) => draft.id !== id)
  if (drafts.value.length === 0) addDraft('')
  else if (currentId.value === id) currentId.value = drafts.value[Math.max(0, at - 1)]!.id
  save()
}

const kept = (): KeptDrafts => ({ drafts: drafts.value, currentId: currentId.value, lastNumber })

function save(): void {
  timer ??= setTimeout(() => {
    timer = undefined
    void keep(storageName, kept())
  }, saveMs)
}

/** A tab that is closed or hidden does not wait. */
export function saveDraftsBeforeLeaving(): () => void {
  const hide = () => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    keepBeforeLeaving(storageName, kept())
  }
  document.addEventListener('visibilitychange', hide)
  addEventListener('pagehide', hide)
  return () => {
    hide()
    document.removeEventListener('visibilitychange', hide)
    removeEventListener('pagehide', hide)
  }
}
