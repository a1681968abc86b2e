import { maxParams } from '../contract/limits.ts'
import { isBetweenWords, type LexemeKind, lexemes, textOf } from './lexemes.ts'
import { wordsOf } from './statements.ts'

/** A statement whose `:name` became `$1`, `$2`, ..., and the name of each. */
export type NumberedStatement = Readonly<{ text: string; names: readonly string[] }>

/**
 * Replaces `:name` by `$1`, `$2`, ... where it stands outside of quotes and comments. A parameter is as long as its name
 * was, so that a position in the one text is the same position in the other, except for a short name
 * after the ninth or directly after a letter.
 */
export function numberNames(text: string): NumberedStatement {
  const names: string[] = []
  let numbered = ''
  let end = 0
  for (const { from, to, label } of parametersIn(text)) {
    if (!label.startsWith(':')) continue
    const name = label.slice(1)
    const known = names.indexOf(name)
    const place = known < 0 ? names.push(name) : known + 1
    // After a letter it would be read as a part of that word.
    const isTouching = /[\w$\u0080-\uffff]$/.test(text.slice(end, from))
    numbered += `${text.slice(end, from)}${isTouching ? ' ' : ''}${`$${place}`.padEnd(to - from)}`
    end = to
  }
  return { text: numbered + text.slice(end), names }
}

/** `label`: `:name` or `$1`, as it is written. */
export type Parameter = Readonly<{ from: number; to: number; label: string }>

/** The parameters that a statement can be given. `$1` in the body of a function or in PREPARE is not one of them. */
export const parametersOf = (statement: string): readonly Parameter[] =>
  mayHaveParameters.test(statement) && !hasOwnParameters(statement) ? [...parametersIn(statement)] : []

/** Most texts have none, and need not be read. */
const mayHaveParameters = /\$\d|:[A-Za-z_\u0080-\uffff]/

const hasOwnParameters = (statement: string) =>
  /^(CREATE (OR REPLACE )?(FUNCTION|PROCEDURE)|PREPARE)\b/.test(wordsOf(statement).slice(0, 4).join(' '))

type PlacedLexeme = Readonly<{ kind: LexemeKind; text: string; from: number; to: number }>

const none: PlacedLexeme = { kind: 'space', text: '', from: -1, to: -1 }

/**
 * A colon and a word directly after it, and `$1`. `::type` is a cast. A colon that PostgreSQL itself reads, in a slice `a[1:n]` or
 * in `json_object('k':v)`, is no parameter: as `namedParameters` reads saved queries.
 */
export function* parametersIn(text: string): Generator<Parameter> {
  const open: Bracket[] = []
  let last = none
  let beforeLast = none
  let from = 0
  for (const lexeme of lexemes(text)) {
    const token = { kind: lexeme.kind, text: textOf(lexeme), from, to: from + textOf(lexeme).length }
    from = token.to
    if (isBetweenWords(lexeme)) continue
    if (last.to === token.from) {
      const digits = last.text === '$' ? (/^\d+/.exec(token.text)?.[0] ?? '') : ''
      if (Number(digits) >= 1 && Number(digits) <= maxParams)
        yield { from: last.from, to: token.from + digits.length, label: `$${Number(digits)}` }
      const isNamed = last.text === ':' && token.kind === 'word'
      if (isNamed && !isOfGrammar(last, beforeLast, open.at(-1)))
        yield { from: last.from, to: token.to, label: `:${token.text}` }
    }
    if (token.text === '(' || token.text === '[') open.push(bracketOf(token.text, last.text))
    else if (token.text === ')' || token.text === ']') open.pop()
    beforeLast = last
    last = token
  }
}

/** Where PostgreSQL's grammar has colons of its own: between the bounds of a slice, and between key and value. */
export type Bracket = 'subscript' | 'members' | 'other'

/** `text`: the bracket that opens; `before`: the word or sign before it. */
export function bracketOf(text: string, before: string): Bracket {
  const word = before.toLowerCase()
  if (text === '(') return /^json_object(agg)?$/.test(word) ? 'members' : 'other'
  // `array[...]`, and the arrays in it, list values.
  return word === 'array' || word === '[' || word === ',' ? 'other' : 'subscript'
}

function isOfGrammar(colon: PlacedLexeme, before: PlacedLexeme, bracket: Bracket | undefined): boolean {
  if (before.text === ':' && before.to === colon.from) return true
  if (bracket === undefined || bracket === 'other') return false
  // `KEY :k VALUE :v`, and not `key:v`, where key is a column.
  if (bracket === 'members' && /^(key|value)$/i.test(before.text) && before.to < colon.from) return false
  return endsExpression(before) || (bracket === 'subscript' && before.text === '[')
}

const endsExpression = ({ kind, text }: PlacedLexeme) =>
  kind === 'word' ? !operators.has(text.toLowerCase()) : kind !== 'symbol' || text === ')' || text === ']'

/** Words after which an expression goes on. */
const operators: ReadonlySet<string> = new Set([
  ...[
    'and',
    'or',
    'not',
    'in',
    'any',
    'all',
    'some',
    'like',
    'ilike',
    'between',
    'similar',
    'to',
    'is',
    'from',
  ],
  ...['overlaps', 'escape', 'symmetric', 'asymmetric', 'case', 'when', 'then', 'else', 'collate', 'distinct'],
])
