import { CartageError, hasCode } from '../../client/cartage-error.ts'
import { ConfigError } from '../../config-variables.ts'
import { formatDuration } from '../../contract/text/format.ts'
import { UsageError } from '../command.ts'
import { explainFile, isFileTrouble } from '../file-trouble.ts'
import { Interrupted } from '../interrupt.ts'
import { printable } from '../printable.ts'

/** There is no key, or none that may be used here: exit code 4. */
export class NoKey extends Error {}

/** Something that ends the command with a sentence and exit code 1. */
export class Failed extends Error {}

/** 1 the database or the service said no, 2 called wrongly, 3 try again, 4 no or wrong key, 130 interrupted; undefined: a bug. */
export function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof Interrupted) return 130
  if (error instanceof UsageError || error instanceof ConfigError) return 2
  if (error instanceof NoKey) return 4
  if (error instanceof CartageError) return exitCodeOfAnswer(error)
  return error instanceof Failed || isFileTrouble(error) ? 1 : undefined
}

function exitCodeOfAnswer({ status, code }: CartageError): number {
  if (status === 401) return 4
  return status === 429 || status === 503 || code === 'service-unreachable' ? 3 : 1
}

/** What is known of the statement that an error is about. */
export type StatementPlace = Readonly<{
  /** The whole text that it stands in. */
  text: string
  /** Where in the text it begins, and itself. */
  from: number
  statement: string
  startedAt: number
}>

const places = new WeakMap<CartageError, StatementPlace>()

/** Remembers which statement an error is about, so that its place can be shown. */
export async function at<T>(place: Omit<StatementPlace, 'startedAt'>, answer: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  try {
    return await answer()
  } catch (error) {
    if (error instanceof CartageError) places.set(error, { ...place, startedAt })
    throw error
  }
}

export const wholeText = (text: string) => ({ text, from: 0, statement: text })

export function explain(error: unknown): string {
  if (error instanceof Interrupted) return 'interrupted'
  if (isFileTrouble(error)) return printable(`error: ${explainFile(error)}`)
  if (!(error instanceof CartageError)) return printable(`error: ${(error as Error).message}`)
  const place = places.get(error)
  if (hasCode(error, 'statement-timeout') && place) return explainLimit(place)
  const { detail, hint, context, position } = error
  const facts = Object.entries({ detail, hint, context })
    .filter(([, text]) => text)
    .map(([name, text]) => `${name}: ${indented(text!)}`)
  const reason = hasCode(error, 'service-unreachable') ? reasonOf(error.cause) : ''
  return printable(
    [
      `error: ${indented(error.message)}${reason}`,
      ...(place ? markPlace(place, position) : []),
      ...facts,
    ].join('\n'),
  )
}

/** A line of it must not look like one of ours. */
const indented = (text: string) => text.replaceAll('\n', '\n  ')

function reasonOf(cause: unknown): string {
  const { message, code } = (cause ?? {}) as NodeJS.ErrnoException
  return message || code ? ` (${message || code})` : ''
}

function explainLimit({ statement, startedAt }: StatementPlace): string {
  const after = formatDuration(performance.now() - startedAt)
  const quoted = `'${statement.replaceAll("'", `'\\''`)}'`
  return `error: stopped by the service after ${after}, its limit for one request. As a job: cartage job run ${quoted}`
}

/** The line that PostgreSQL means, and marks below the word. */
function markPlace(
  { text, from, statement }: StatementPlace,
  position: number | undefined,
): readonly string[] {
  if (position === undefined || position < 1) return []
  // PostgreSQL counts characters, not halves of them.
  const at = from + [...statement].slice(0, position - 1).join('').length
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  const number = String(text.slice(0, lineStart).split('\n').length)
  const rest = text.slice(at).split('\n', 1)[0]!
  const [word = ''] = /^(?:"(?:[^"]|"")*"|'(?:[^']|'')*'|[\p{L}\p{N}_$]+|.)/u.exec(rest) ?? []
  return markedLine(number, { before: text.slice(lineStart, at), word, after: rest.slice(word.length) })
}

/** A numbered line, and marks below a word of it; without a word, below its end. */
export function markedLine(
  number: string,
  { before, word, after }: Readonly<{ before: string; word: string; after: string }>,
): readonly string[] {
  const width = (text: string) => [...printable(text)].length
  const marks = '^'.repeat(Math.min(60, width(word) || 1))
  return [
    `  ${number} │ ${printable(`${before}${word}${after}`)}`,
    `  ${' '.repeat(number.length)} │ ${' '.repeat(width(before))}${marks}`,
  ]
}
