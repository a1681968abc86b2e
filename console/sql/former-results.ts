import { signal } from '@preact/signals'
import { isBetweenWords, lexemes, textOf } from '../../src/sql-text/lexemes.ts'
import { mostCompared, mostComparedBytes } from '../result/worker/protocol.ts'
import type { Run } from './run.ts'

/** A result whose tab was closed. Its answer stays for a while, to be compared with the next run of the statement. */
export type FormerResult = Pick<Run, 'id' | 'text' | 'bound' | 'at' | 'as'> &
  Readonly<{
    rows: number
    bytes: number
    /** Undefined if it is too large. */
    answer: Blob | undefined
  }>

/** Newest last. */
export const formerResults = signal<readonly FormerResult[]>([])

const mostFormer = 20
let round = 0

/** Takes the answer of a run before its worker ends. */
export async function holdFormer(run: Run): Promise<void> {
  const { id, text, bound, at, as, result } = run
  const { rows, bytes } = result.progress.peek()
  if (!canBeCompared(run)) return
  const isTooLarge = rows > mostCompared || bytes > mostComparedBytes
  const begun = round
  const answer = isTooLarge ? undefined : await result.ask('answer', {})
  if (begun !== round) return
  // Only the last run of a statement is stored.
  const others = formerResults.peek().filter((each) => normalText(each.text) !== normalText(text))
  const held = [...others, { id, text, bound, at, as, rows, bytes, answer }].slice(-mostFormer)
  while (held.reduce((sum, each) => sum + (each.answer?.size ?? 0), 0) > mostComparedBytes) held.shift()
  formerResults.value = held
}

export function dropFormer(): void {
  round++
  formerResults.value = []
}

/** Only complete rows are compared. */
export const canBeCompared = ({ isPlan, result }: Run) =>
  !isPlan && result.state.value === 'done' && result.progress.value.columns.length > 0

const known = new Map<string, string>()
const mostKnown = 50
/** Reading a longer text would block the page. */
const longestRead = 200_000

/** A statement without insignificant comments, spaces and capitals. */
export function normalText(text: string): string {
  const found = known.get(text)
  if (found !== undefined) return found
  const normal = text.length > longestRead ? text.trim() : normalize(text)
  if (known.size >= mostKnown) known.clear()
  known.set(text, normal)
  return normal
}

function normalize(text: string): string {
  const words = []
  for (const lexeme of lexemes(text)) {
    if (isBetweenWords(lexeme)) continue
    words.push(lexeme.kind === 'word' ? textOf(lexeme).toLowerCase() : textOf(lexeme))
  }
  return words.join(' ').replace(/( ;)+$/, '')
}
