import type { KeptStatement } from '../../../src/contract/documents.ts'
import { defaultKeyName, masterKeyName } from '../../../src/contract/key-names.ts'
import type { HistoryEntry } from './history.ts'

/** A text with its last run. */
export type MergedEntry = HistoryEntry &
  Readonly<{
    /** All of the service's statements with this text. */
    kept: readonly string[]
    /** The service has only the beginning of the text, and this browser has no entry. */
    isCut: boolean
  }>

/**
 * The history of this browser and the service, newest first, each text once. `ownKey`: the name of the session's key.
 */
export function mergeHistory(
  local: readonly HistoryEntry[],
  statements: readonly KeptStatement[],
  ownKey: string | null,
): readonly MergedEntry[] {
  const localById = new Map(local.flatMap((entry) => (entry.id ? [[entry.id, entry] as const] : [])))
  const all = [
    ...statements.map((one) => mergedOf(one, localById.get(one.id), ownKey)),
    ...local.map((entry): MergedEntry => ({ ...entry, kept: [], isCut: false })),
  ]
  const byText = new Map<string, MergedEntry>()
  for (const entry of all.sort((a, b) => b.at - a.at)) {
    const known = byText.get(entry.text)
    byText.set(entry.text, known ? { ...known, kept: [...known.kept, ...entry.kept] } : entry)
  }
  return [...byText.values()]
}

/** This browser has the whole text. */
function mergedOf(
  { id, at, text, text_is_cut, key, outcome, rows, ms }: KeptStatement,
  local: HistoryEntry | undefined,
  ownKey: string | null,
): MergedEntry {
  const as = key === ownKey ? (key === masterKeyName ? key : 'this key') : (key ?? 'a deleted key')
  return {
    id,
    at: Date.parse(at),
    text: local?.text ?? text,
    isCut: text_is_cut && !local,
    as: key === defaultKeyName ? 'anonymous' : as,
    outcome,
    rows: rows ?? 0,
    ms,
    kept: [id],
  }
}
