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

const nothing = /(?!)/

/**
 * Splits a text into lexemes by the rules of PostgreSQL's scanner (standard_conforming_strings on). Never fails, and
 * loses no character. A match of `hole` outside quotes becomes a lexeme of its own: a placeholder for a string that is
 * filled in later.
 */
export function* lexemes(text: string, hole: RegExp = nothing): Generator<Lexeme> {
  const patterns = lexemePatterns(hole)
  // `E'a'` and `'b'` on the next line are one string: the kind of a bare quote depends on the lexeme before it.
  let previous: StringKind | undefined
  let isNextLine = false
  for (let at = 0; at < text.length; ) {
    const continued = isNextLine ? previous : undefined
    const lexeme =
      blockComment(text, at) ?? dollarString(text, at) ?? matchedLexeme(patterns, text, at, continued)
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

type LexemePattern = readonly [kind: LexemeKind, pattern: RegExp]

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

/** In order of precedence. The groups are `open`, `body` and `close`. */
function lexemePatterns(hole: RegExp): readonly LexemePattern[] {
  return [
    ['hole', new RegExp(`(${hole.source})`, 'y')],
    ['space', /([ \t\n\r\f\v]+)/y],
    ['line-comment', new RegExp(`(--)((?:${hole.source}|[^\\r\\n])*)`, 'y')],
    ['escape-string', new RegExp(`([eE]')${escaped}`, 'y')],
    ['unicode-string', new RegExp(`([uU]&')${quoted}`, 'y')],
    ['bit-string', new RegExp(`([bBxX]')${bits}`, 'y')],
    ['string', new RegExp(`([nN]?')${quoted}`, 'y')],
    ['unicode-identifier', new RegExp(`([uU]&")${identifier}`, 'y')],
    ['quoted-identifier', new RegExp(`(")${identifier}`, 'y')],
    ['word', /([A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*)/y],
    ['symbol', /(\d+|.)/sy],
  ]
}

function matchedLexeme(
  patterns: readonly LexemePattern[],
  text: string,
  at: number,
  continued: StringKind | undefined,
): Lexeme {
  if (continued !== undefined && text[at] === "'") {
    return lexemeOf(continued, matchAt(continuations[continued], text, at)!)
  }
  for (const [kind, pattern] of patterns) {
    const match = matchAt(pattern, text, at)
    if (match && kind === 'hole') return { ...lexemeOf(kind, match), fillsIn: continued ?? 'string' }
    if (match) return lexemeOf(kind, match)
  }
  throw new Error('unreachable: the last pattern matches any character')
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
