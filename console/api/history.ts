import { keep, readKept } from './kept.ts'

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
let writing: Promise<void> = Promise.resolve()

/** The newest first. */
export const readHistory = async () => (await readKept<readonly HistoryEntry[]>(storageName)) ?? []

export function noteInHistory(entry: HistoryEntry): Promise<void> {
  // One after the other: each is read, changed and written.
  writing = writing.then(async () => {
    const former = await readHistory()
    await keep(
      storageName,
      [entry, ...former.filter(({ text }) => text !== entry.text)].slice(0, mostEntries),
    )
  })
  return writing
}
