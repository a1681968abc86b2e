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

/** `open + body + close` is the text as it stood; `close` is empty where the text ended too early. */
export type Lexeme = {
  readonly kind: LexemeKind
  readonly open: string
  readonly body: string
  readonly close: string
}

const nothing = /(?!)/

/**
 * Cuts a text into lexemes by the rules of PostgreSQL's scanner (standard_conforming_strings on). Never
 * fails, and loses nothing. Where `hole` matches outside of a quote, something will be filled in later:
 * a lexeme of its own, which stands for a string.
 */
export function* lexemes(text: string, hole: RegExp = nothing): Generator<Lexeme> {
  const patterns = lexemePatterns(hole)
  // `E'a'` and then `'b'` on a new line are one string, so what a bare quote opens depends on what stands before it.
  let continued: LexemeKind | undefined
  for (let at = 0; at < text.length; ) {
    const lexeme =
      blockComment(text, at) ?? dollarString(text, at) ?? matchedLexeme(patterns, text, at, continued)
    yield lexeme
    at += lexeme.open.length + lexeme.body.length + lexeme.close.length
    if (lexeme.kind === 'hole') continued ??= 'string'
    else if (stringKinds.has(lexeme.kind)) continued = lexeme.kind
    else if (lexeme.kind !== 'space' && lexeme.kind !== 'line-comment') continued = undefined
  }
}

const stringKinds: ReadonlySet<LexemeKind> = new Set([
  'string',
  'escape-string',
  'unicode-string',
  'bit-string',
])

type LexemePattern = readonly [kind: LexemeKind, pattern: RegExp]

const quoted = "([^']*(?:''[^']*)*)('?)"
const escaped = String.raw`([^'\\]*(?:(?:''|\\[^]?)[^'\\]*)*)('?)`
const identifier = '([^"]*(?:""[^"]*)*)("?)'

const continuedEscapeString = new RegExp(`(')${escaped}`, 'y')

/** In order of precedence; the groups are `open`, `body` and `close`. */
function lexemePatterns(hole: RegExp): readonly LexemePattern[] {
  return [
    ['hole', new RegExp(`(${hole.source})`, 'y')],
    ['space', /([ \t\n\r\f\v]+)/y],
    ['line-comment', new RegExp(`(--)((?:${hole.source}|[^\\r\\n])*)`, 'y')],
    ['escape-string', new RegExp(`([eE]')${escaped}`, 'y')],
    ['unicode-string', new RegExp(`([uU]&')${quoted}`, 'y')],
    ['bit-string', new RegExp(`([bBxX]')${quoted}`, 'y')],
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
  continued: LexemeKind | undefined,
): Lexeme {
  const isContinuation = continued !== undefined && text[at] === "'"
  if (isContinuation && continued === 'escape-string') {
    return lexemeOf('escape-string', matchAt(continuedEscapeString, text, at)!)
  }
  for (const [kind, pattern] of patterns) {
    const match = matchAt(pattern, text, at)
    if (match) return lexemeOf(isContinuation ? continued : kind, match)
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
