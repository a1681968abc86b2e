import { changeKept, readKept } from './kept.ts'

/** A statement that was run, and how it ended. Never its rows. */
export type HistoryEntry = Readonly<{
  text: string
  at: number
  as: string
  outcome: 'done' | 'stopped' | 'failed'
  rows?: number
  ms?: number
  error?: string
}>

const storageName = 'history'
const mostEntries = 1000

/** Newest first. */
export const readHistory = async () => (await readKept<readonly HistoryEntry[]>(storageName)) ?? []

/** Read and written in one transaction, because other tabs add entries too. */
export async function noteInHistory(entry: HistoryEntry): Promise<void> {
  await changeKept<readonly HistoryEntry[]>(storageName, (former = []) =>
    [entry, ...former.filter(({ text }) => text !== entry.text)].slice(0, mostEntries),
  )
}
