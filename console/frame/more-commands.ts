import type { KeptStatement } from '../../src/contract/documents.ts'
import { catalog, openCatalog, refreshCatalog } from '../api/catalog.ts'
import { readHistory, searchServiceHistory } from '../api/history/history.ts'
import { type MergedEntry, mergeHistory } from '../api/history/merged-history.ts'
import { session } from '../api/session.ts'
import { packStatement } from '../api/share.ts'
import { navigate, pathTo } from '../parts/browser/route.ts'
import type { Command } from '../parts/commands.ts'
import { shorten } from '../parts/format.ts'
import { toast } from '../parts/toast.tsx'

/** `kept`: what `searchKept` found. */
export type MoreCommands = (kept: readonly KeptStatement[]) => readonly Command[]

/** What the palette finds besides the page's commands: tables, also those read later, and the history. */
export async function moreCommands(): Promise<MoreCommands> {
  if (!session.peek()) return () => []
  const [own] = await Promise.all([readHistory(), openCatalog()])
  void refreshCatalog()
  // It is asked at each key, and mostly about the same statements.
  let former: readonly KeptStatement[] | undefined
  let history: readonly Command[] = []
  return (kept) => {
    if (kept !== former) history = mergeHistory(own, kept, session.peek()?.keyName ?? null).map(commandOf)
    former = kept
    const tables = catalog.value.tables.map(({ schema, name, kind }) => ({
      name: `${schema}.${name}, ${kind}`,
      run: () => navigate(pathTo('tables', schema, name)),
    }))
    return [...tables, ...history]
  }
}

const historyWord = 'history'
const shortestSearch = 2
const mostKept = 50

/**
 * What the service keeps of the session's key with the longest of the typed words: statements that ran in other browsers. Nothing if
 * it does not answer: what this browser has is found without it.
 */
export function searchKept(text: string, signal: AbortSignal): Promise<readonly KeptStatement[]> {
  const words = text.split(/\s+/).filter((word) => !`${historyWord}:`.startsWith(word.toLowerCase()))
  const [longest = ''] = words.sort((a, b) => b.length - a.length)
  if (longest.length < shortestSearch) return Promise.resolve([])
  return searchServiceHistory(longest, mostKept, signal).catch(() => [])
}

/** Opens a new draft, as a shared link does. Nothing is run. */
function commandOf({ text, isCut }: MergedEntry): Command {
  return {
    name: `History: ${shorten(text, 120)}`,
    searched: `${historyWord}: ${text}`.toLowerCase(),
    run: () => void openDraft(text, isCut),
  }
}

async function openDraft(text: string, isCut: boolean): Promise<void> {
  navigate(`/sql#s=${await packStatement(text)}`)
  if (isCut) toast('Its end is missing: the service keeps the beginning of long statements')
}
