export type LexemeKind =
  | 'space'
  | 'line-comment'
  | 'block-comment'
  | 'string'
  | 'escape-string'
  | 'unicode-string'
  | 'bit-string'
  | 'dollar-string'
  | 'quoted-identifier'
  | 'unicode-identifier'
  | 'word'
  | 'number'
  | 'symbol'
  | 'hole'

/** `open + body + close` is the original text; `close` is empty if the text ended too early. */
export type Lexeme = {
  readonly kind: LexemeKind
  readonly open: string
  readonly body: string
  readonly close: string
  /** For a hole: the kind of string that a literal in its place would be read as. */
  readonly fillsIn?: StringKind
}

export type StringKind = 'string' | 'escape-string' | 'unicode-string' | 'bit-string'

/**
 * Splits a text into lexemes by the rules of PostgreSQL's scanner (standard_conforming_strings on). Never fails, and
 * loses no character. A match of `hole` outside quotes becomes a lexeme of its own: a placeholder for a string that is
 * filled in later.
 */
export function* lexemes(text: string, hole?: RegExp): Generator<Lexeme> {
  const known = hole ? patternsWith(hole) : patterns
  const holeHere = hole && new RegExp(`(${hole.source})`, 'y')
  // `E'a'` and `'b'` on the next line are one string: the kind of a bare quote depends on the lexeme before it.
  let previous: StringKind | undefined
  let isNextLine = false
  for (let at = 0; at < text.length; ) {
    const continued = isNextLine ? previous : undefined
    const lexeme =
      blockComment(text, at) ??
      dollarString(text, at) ??
      (holeHere && holeLexeme(holeHere, text, at, continued)) ??
      plainLexeme(known, text, at, continued)
    yield lexeme
    at += textOf(lexeme).length

    if (lexeme.kind === 'line-comment') continue
    if (lexeme.kind === 'space') isNextLine ||= /[\r\n]/.test(lexeme.open)
    else {
      previous = lexeme.fillsIn ?? (isStringKind(lexeme.kind) ? lexeme.kind : undefined)
      isNextLine = false
    }
  }
}

function isStringKind(kind: LexemeKind): kind is StringKind {
  return kind === 'string' || kind === 'escape-string' || kind === 'unicode-string' || kind === 'bit-string'
}

const quoted = "([^']*(?:''[^']*)*)('?)"
const escaped = String.raw`([^'\\]*(?:(?:''|\\[^]?)[^'\\]*)*)('?)`
const bits = "([^']*)('?)"
const identifier = '([^"]*(?:""[^"]*)*)("?)'

/** Patterns for a bare quote that continues a string of this kind. */
const continuations: Readonly<Record<StringKind, RegExp>> = {
  string: new RegExp(`(')${quoted}`, 'y'),
  'escape-string': new RegExp(`(')${escaped}`, 'y'),
  'unicode-string': new RegExp(`(')${quoted}`, 'y'),
  'bit-string': new RegExp(`(')${bits}`, 'y'),
}

type PlainKind = Exclude<LexemeKind, 'hole' | 'block-comment' | 'dollar-string'>
type Patterns = Readonly<Record<PlainKind, RegExp>>

/** The groups are `open`, `body` and `close`. */
const patterns: Patterns = {
  space: /([ \t\n\r\f\v]+)/y,
  'line-comment': /(--)([^\r\n]*)/y,
  'escape-string': new RegExp(`([eE]')${escaped}`, 'y'),
  'unicode-string': new RegExp(`([uU]&')${quoted}`, 'y'),
  'bit-string': new RegExp(`([bBxX]')${bits}`, 'y'),
  string: new RegExp(`([nN]?')${quoted}`, 'y'),
  'unicode-identifier': new RegExp(`([uU]&")${identifier}`, 'y'),
  'quoted-identifier': new RegExp(`(")${identifier}`, 'y'),
  word: /([A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*)/y,
  number: /(0[xXoObB][\dA-Fa-f_]+|\d[\d_]*(?:\.(?!\.)[\d_]*)?(?:[eE][-+]?\d[\d_]*)?)/y,
  symbol: /(.)/sy,
}

/** A hole may be in a comment. */
const patternsWith = (hole: RegExp): Patterns => ({
  ...patterns,
  'line-comment': new RegExp(`(--)((?:${hole.source}|[^\\r\\n])*)`, 'y'),
})

/** What begins here, as its first characters tell. */
function kindAt(text: string, at: number): PlainKind {
  const first = text[at]!
  const next = text[at + 1]
  if (first === "'") return 'string'
  if (first === '"') return 'quoted-identifier'
  if (first === '-' && next === '-') return 'line-comment'
  if (isSpace.test(first)) return 'space'
  if (next === "'" && prefixes.has(first)) return prefixes.get(first)!
  if (next === '&' && (first === 'u' || first === 'U')) {
    if (text[at + 2] === "'") return 'unicode-string'
    if (text[at + 2] === '"') return 'unicode-identifier'
  }
  if (isLetter.test(first)) return 'word'
  return isDigit.test(first) ? 'number' : 'symbol'
}

const isSpace = /[ \t\n\r\f\v]/
const isLetter = /[A-Za-z_\u0080-\uffff]/
const isDigit = /\d/

/** Letters that make another string of the one that begins after them. */
const prefixes: ReadonlyMap<string, PlainKind> = new Map([
  ['e', 'escape-string'],
  ['E', 'escape-string'],
  ['b', 'bit-string'],
  ['B', 'bit-string'],
  ['x', 'bit-string'],
  ['X', 'bit-string'],
  ['n', 'string'],
  ['N', 'string'],
])

function plainLexeme(known: Patterns, text: string, at: number, continued: StringKind | undefined): Lexeme {
  if (continued !== undefined && text[at] === "'")
    return lexemeOf(continued, matchAt(continuations[continued], text, at)!)
  const kind = kindAt(text, at)
  return lexemeOf(kind, matchAt(known[kind], text, at)!)
}

function holeLexeme(
  hole: RegExp,
  text: string,
  at: number,
  continued: StringKind | undefined,
): Lexeme | undefined {
  const match = matchAt(hole, text, at)
  return match ? { ...lexemeOf('hole', match), fillsIn: continued ?? 'string' } : undefined
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function lexemeOf(kind: LexemeKind, [, open = '', body = '', close = '']: RegExpExecArray): Lexeme {
  return { kind, open, body, close }
}

/** Block comments nest. */
function blockComment(text: string, at: number): Lexeme | undefined {
  if (!text.startsWith('/*', at)) return undefined
  const edge = /\/\*|\*\//g
  edge.lastIndex = at + 2
  for (let depth = 1; ; ) {
    const match = edge.exec(text)
    if (!match) return { kind: 'block-comment', open: '/*', body: text.slice(at + 2), close: '' }
    depth += match[0] === '/*' ? 1 : -1
    if (depth === 0)
      return { kind: 'block-comment', open: '/*', body: text.slice(at + 2, match.index), close: '*/' }
  }
}

const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y

function dollarString(text: string, at: number): Lexeme | undefined {
  const tag = text[at] === '$' ? matchAt(dollarTag, text, at)?.[0] : undefined
  if (tag === undefined) return undefined
  const bodyAt = at + tag.length
  const end = text.indexOf(tag, bodyAt)
  if (end === -1) return { kind: 'dollar-string', open: tag, body: text.slice(bodyAt), close: '' }
  return { kind: 'dollar-string', open: tag, body: text.slice(bodyAt, end), close: tag }
}

export function textOf({ open, body, close }: Lexeme): string {
  return open + body + close
}

/** Spaces and comments. */
export const isBetweenWords = ({ kind }: Lexeme) =>
  kind === 'space' || kind === 'line-comment' || kind === 'block-comment'
