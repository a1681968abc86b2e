import { CartageError, hasCode } from '../../client/cartage-error.ts'
import { ConfigError } from '../../config/config-variables.ts'
import { formatDuration } from '../../contract/text/format.ts'
import { lexemes, textOf } from '../../sql-text/lexemes.ts'
import { type CommandFailure, failureOf, InterruptedError } from '../command-error.ts'
import { printable } from '../printable.ts'

/** Undefined if the error is a bug. */
export function explainFailure(error: unknown): CommandFailure | undefined {
  const failure = failureOf(error, (other) => {
    if (other instanceof ConfigError) return { message: other.message, exitCode: 2 }
    if (other instanceof CartageError) return { message: explainAnswer(other), exitCode: exitCodeOf(other) }
    return undefined
  })
  if (!failure || error instanceof InterruptedError) return failure
  return { ...failure, message: `error: ${failure.message}` }
}

/** 1 refused, 3 worth another try, 4 no key or a wrong one, 5 a job that was accepted and not followed to its end. */
function exitCodeOf({ status, code }: CartageError): number {
  if (status === 401) return 4
  if (code === 'job-not-followed') return 5
  const isWorthAnotherTry =
    status === 429 || status === 503 || code === 'service-unreachable' || code === 'answer-cut'
  return isWorthAnotherTry ? 3 : 1
}

/** The statement that an error is about. */
export type StatementPlace = Readonly<{
  /** The whole text that has the statement. */
  text: string
  /** Where the statement begins in the text. */
  from: number
  statement: string
  startedAt: number
}>

const places = new WeakMap<CartageError, StatementPlace>()

/** Runs `answer` and notes the statement on its error, so that the message can show the place in it. */
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

function explainAnswer(error: CartageError): string {
  const place = places.get(error)
  if (hasCode(error, 'statement-timeout') && place) return explainLimit(place, error.body.limit)
  const { detail, hint, context, position } = error
  const facts = Object.entries({ detail, hint, context })
    .filter(([, text]) => text)
    .map(([name, text]) => `${name}: ${indented(text!)}`)
  const reason = hasCode(error, 'service-unreachable') ? reasonOf(error.cause) : ''
  return [`${indented(error.message)}${reason}`, ...(place ? markPlace(place, position) : []), ...facts].join(
    '\n',
  )
}

/** No line of a message from the service can be taken for a line of ours. */
const indented = (text: string) => text.replaceAll('\n', '\n  ')

function reasonOf(cause: unknown): string {
  const { message, code } = (cause ?? {}) as NodeJS.ErrnoException
  return message || code ? ` (${message || code})` : ''
}

function explainLimit({ statement, startedAt }: StatementPlace, limit: unknown): string {
  const after = formatDuration(performance.now() - startedAt)
  const quoted = `'${statement.replaceAll("'", `'\\''`)}'`
  const named = typeof limit === 'string' ? limit : 'its limit for one request'
  return `stopped by the service after ${after}, by a limit: ${named}. As a job: cartage job run ${quoted}`
}

/** The line that PostgreSQL reports, with marks under the word. */
function markPlace(
  { text, from, statement }: StatementPlace,
  position: number | undefined,
): readonly string[] {
  if (position === undefined || position < 1) return []
  // PostgreSQL counts characters; a JavaScript string counts UTF-16 units.
  const at = from + [...statement].slice(0, position - 1).join('').length
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  const number = String(text.slice(0, lineStart).split('\n').length)
  const rest = text.slice(at).split('\n', 1)[0]!
  const [lexeme] = lexemes(rest)
  const word = lexeme ? textOf(lexeme) : ''
  return markedLine(number, { before: text.slice(lineStart, at), word, after: rest.slice(word.length) })
}

/** A numbered line with marks under a word of it; if the word is empty, one mark. */
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
