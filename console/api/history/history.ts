import { keptText, randomUuid } from '../../../src/client/history-api.ts'
import type {
  HistoryFilter,
  HistoryList,
  KeptStatement,
  ToldStatement,
} from '../../../src/contract/documents.ts'
import { maxHistoryEntries, maxHistoryPage, maxHistorySearch } from '../../../src/contract/limits.ts'
import { changeKept, forgetKept, readKept } from '../kept.ts'
import { requestJson, requestText } from '../request.ts'
import { session } from '../session.ts'

/** A statement that was run, and how it ended. Never its rows. */
export type HistoryEntry = Readonly<{
  /** The id of the service's entry. Missing in entries stored by an older version. */
  id?: string
  text: string
  at: number
  as: string
  outcome: 'done' | 'stopped' | 'failed'
  rows?: number
  ms?: number
  error?: string
}>

/** `code`: of its error. `key`: the key that ran it, if it is not the session's. */
export type RanEntry = Omit<HistoryEntry, 'id'> &
  Readonly<{ code?: string | undefined; key?: string | undefined }>

const storageName = 'history'
const mostEntries = 1000

/** The entries of this browser, newest first, each text once. */
export const readHistory = async () => (await readKept<readonly HistoryEntry[]>(storageName)) ?? []

/** Stores a statement in this browser and, for other browsers of the same key, in the service. */
export async function noteInHistory({ code, key, ...ran }: RanEntry): Promise<void> {
  const entry = { ...ran, id: randomUuid() }
  void tellService(entry, code, key)
  // Read and written in one transaction, because other tabs add entries too.
  await changeKept<readonly HistoryEntry[]>(storageName, (former = []) =>
    [entry, ...former.filter(({ text }) => text !== entry.text)].slice(0, mostEntries),
  )
}

async function tellService(
  { id, text, outcome, ms = 0, rows }: HistoryEntry,
  code: string | undefined,
  key: string | undefined,
): Promise<void> {
  const { username, token } = session.peek() ?? {}
  // Without a key there is no history. A service without history is asked only once.
  if (isOff || !username || !token) return
  const told = {
    id,
    ...keptText(text),
    outcome,
    ms: Math.round(ms),
    rows: outcome === 'done' ? rows : null,
    code,
    key,
  }
  const as = { kind: 'key', username, token } as const
  await requestJson<ToldStatement>('tellHistory', { json: told, as, isRepeatable: true }).then(
    ({ kept }) => {
      isOff = !kept
    },
    // This browser has the entry.
    () => undefined,
  )
}

let isOff = false

export type ServiceHistory = Readonly<{
  /** How many days the service keeps statements; 0: it has no history. */
  days: number
  statements: readonly KeptStatement[]
}>

/** The service's history of the session's key, newest first. */
export async function readServiceHistory(signal: AbortSignal): Promise<ServiceHistory> {
  if (!session.peek()?.token) return { days: 0, statements: [] }
  const statements: KeptStatement[] = []
  for (let before: number | undefined; ; ) {
    const page = await listHistory({ limit: maxHistoryPage, before }, signal)
    statements.push(...page.statements)
    if (page.next === null || statements.length >= maxHistoryEntries)
      return { days: page.kept_days, statements }
    before = page.next
  }
}

/** What the service keeps of the session's key and finds by a text, newest first. Nothing without a key. */
export async function searchServiceHistory(
  text: string,
  limit: number,
  signal: AbortSignal,
): Promise<readonly KeptStatement[]> {
  if (!session.peek()?.token) return []
  const search = text.slice(0, maxHistorySearch)
  return (await listHistory({ search, limit }, signal)).statements
}

/** With `key`: what ran with that key. */
export const listHistory = (query: HistoryFilter, signal: AbortSignal) =>
  requestJson<HistoryList>('listHistory', { query, signal })

/** Deletes a text from this browser, and statements from the service. */
export async function forgetInHistory(text: string, ids: readonly string[]): Promise<void> {
  for (const entry of ids) await requestText('deleteFromHistory', { parameters: { entry } })
  await changeKept<readonly HistoryEntry[]>(storageName, (former = []) =>
    former.filter((each) => each.text !== text),
  )
}

export async function forgetHistory(): Promise<void> {
  if (session.peek()?.token) await requestText('clearHistory')
  await forgetKept(storageName)
}
