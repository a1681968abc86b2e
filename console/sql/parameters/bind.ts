import { jsonReader } from '../../../src/client/exact-json.ts'
import { type QueryParamType, queryParamSqlTypes } from '../../../src/contract/saved-queries.ts'
import { type Parameter, parametersOf } from '../../../src/sql-text/named-values.ts'
import { splitStatements } from '../../../src/sql-text/statements.ts'

/** The user's value of a parameter. `auto`: PostgreSQL takes the type from the statement. */
export type GivenValue = Readonly<{
  type: QueryParamType | 'auto'
  /** Undefined: nothing was typed yet. */
  text?: string | undefined
  isNull?: boolean | undefined
}>

/** By label: `:name` or `$1`. */
export type GivenValues = Readonly<Record<string, GivenValue>>

/** A statement as it is sent. `pieces`: where a parameter is written differently than in the text. */
export type Bound = Readonly<{ text: string; params: readonly unknown[]; pieces: readonly Piece[] }>
type Piece = Readonly<{ at: Parameter; sentFrom: number; sentTo: number }>

export const nothingGiven: GivenValue = { type: 'auto' }

/** The labels of all statements of a draft, each once. */
export function labelsIn(draft: string): readonly string[] {
  if (draft.length > longestRead) return []
  const labels = splitStatements(draft).flatMap(({ text }) => parametersOf(text).map(({ label }) => label))
  return [...new Set(labels)]
}

/** Reading a longer text at every key would be slow. */
const longestRead = 200_000

/** Why a value cannot be sent. */
export function problemOf({ type, text, isNull }: GivenValue): string | undefined {
  if (isNull) return undefined
  // Only a text can be empty.
  if (text === undefined || (text === '' && type !== 'text')) return 'No value'
  if (isArray(type) && !Array.isArray(read(text))) return 'Not an array of JSON, such as [1, 2]'
  return type === 'json' && read(text) === undefined ? 'Not JSON' : undefined
}

/** The statement with its values, all of which are valid. Undefined: it has no parameters. */
export function bindValues(text: string, given: GivenValues): Bound | undefined {
  const parameters = parametersOf(text)
  if (parameters.length === 0) return undefined
  const places = placesOf(parameters)
  const pieces: Piece[] = []
  let sent = ''
  let end = 0
  for (const at of parameters) {
    sent += text.slice(end, at.from)
    const written = writtenAs(places.get(at.label)!, given[at.label]?.type ?? 'auto')
    pieces.push({ at, sentFrom: sent.length, sentTo: sent.length + written.length })
    sent += written
    end = at.to
  }
  const params: unknown[] = Array.from({ length: Math.max(...places.values()) }, () => null)
  for (const [label, place] of places) params[place - 1] = sentValue(given[label] ?? nothingGiven)
  return { text: sent + text.slice(end), params, pieces }
}

/** The position in the text for a position in the sent statement. */
export function placeInText({ pieces }: Bound, sentAt: number): number {
  const piece = pieces.findLast(({ sentFrom }) => sentFrom <= sentAt)
  if (!piece) return sentAt
  return sentAt < piece.sentTo ? piece.at.from : piece.at.to + sentAt - piece.sentTo
}

/** `$1` keeps its number; names get the numbers after the highest. */
function placesOf(parameters: readonly Parameter[]): ReadonlyMap<string, number> {
  const labels = [...new Set(parameters.map(({ label }) => label))]
  const numbers = labels.filter((label) => label.startsWith('$')).map((label) => Number(label.slice(1)))
  const highest = Math.max(0, ...numbers)
  const names = labels.filter((label) => label.startsWith(':'))
  return new Map(
    labels.map((label) => [
      label,
      label.startsWith('$') ? Number(label.slice(1)) : highest + names.indexOf(label) + 1,
    ]),
  )
}

/** Spaces keep it apart from its neighbours. */
const writtenAs = (place: number, type: GivenValue['type']) =>
  type === 'auto' ? ` $${place} ` : ` ($${place}::${queryParamSqlTypes[type]}) `

/** In the form of the SQL endpoint: PostgreSQL reads a text as the type. Numbers of an array keep all digits. */
function sentValue({ type, text = '', isNull }: GivenValue): unknown {
  if (isNull) return null
  return isArray(type) ? read(text) : text
}

const isArray = (type: GivenValue['type']) => type.endsWith('[]')

const readJson = jsonReader('string')

function read(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}
