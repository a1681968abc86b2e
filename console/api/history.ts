import { changeKept, readKept } from './kept.ts'

/** What was run and how it ended; never what came back. */
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

/** The newest first. */
export const readHistory = async () => (await readKept<readonly HistoryEntry[]>(storageName)) ?? []

/** In one step with what is stored: another tab runs statements too. */
export async function noteInHistory(entry: HistoryEntry): Promise<void> {
  await changeKept<readonly HistoryEntry[]>(storageName, (former = []) =>
    [entry, ...former.filter(({ text }) => text !== entry.text)].slice(0, mostEntries),
  )
}
