import { type Bracket, bracketOf } from '../sql-text/named-values.ts'
import { type ParseFailure, scanTokens, type Token } from './grammar.ts'

/** A text with `:name` parameters: the texts between them, and their names, one less than texts. */
export type NamedText = Readonly<{ pieces: readonly string[]; names: readonly string[] }>

export type NamedParameters =
  | (NamedText & Readonly<{ ok: true }>)
  | Readonly<{ ok: false; message: string; position?: number | undefined }>

/**
 * Finds the `:name` parameters of a text by the tokens of PostgreSQL's scanner, so not in literals, comments, quoted names and
 * casts. A colon that PostgreSQL itself reads, in a slice `a[1:n]` or in `json_object('k':v)`, is no parameter.
 */
export function namedParameters(text: string): NamedParameters {
  const scanned = scanTokens(text)
  if (!scanned.ok) return refused(scanned)
  const tokens = scanned.tokens.filter(({ tokenName }) => !comments.has(tokenName))
  const bytes = Buffer.from(text)
  const pieces: string[] = []
  const names: string[] = []
  const open: Bracket[] = []
  let at = 0
  for (const [index, token] of tokens.entries()) {
    const [before, next] = [tokens[index - 1], tokens[index + 1]]
    if (token.tokenName === 'PARAM')
      return { ok: false, message: `Write ${token.text} as a parameter with a name, such as :town` }
    if (token.text === '(' || token.text === '[') open.push(bracketOf(token.text, before?.text ?? ''))
    else if (token.text === ')' || token.text === ']') open.pop()
    if (!next || !isColon(token) || next.start !== token.end || !isWord(next)) continue
    if (isOfGrammar(token, before, open.at(-1))) continue
    pieces.push(bytes.toString('utf8', at, token.start))
    names.push(bytes.toString('utf8', next.start, next.end))
    at = next.end
  }
  pieces.push(bytes.toString('utf8', at))
  return { ok: true, pieces, names }
}

/** The text with something else for each parameter. Spaces keep it apart from its neighbours. */
export function fillParameters({ pieces, names }: NamedText, write: (name: string) => string): string {
  return pieces.reduce((text, piece, index) => `${text} ${write(names[index - 1]!)} ${piece}`)
}

function refused({ message, position }: ParseFailure): NamedParameters {
  return { ok: false, message, position }
}

const comments: ReadonlySet<string> = new Set(['SQL_COMMENT', 'C_COMMENT'])

const isColon = ({ text, start, end }: Token) => text === ':' && end === start + 1
const isWord = ({ tokenName, keywordName }: Token) => tokenName === 'IDENT' || keywordName !== 'NO_KEYWORD'

/** `a[:n]` is a slice without a lower bound: a parameter there is written `a[(:n)]`. */
function isOfGrammar(colon: Token, before: Token | undefined, bracket: Bracket | undefined): boolean {
  if (!before || bracket === undefined || bracket === 'other') return false
  if (bracket === 'members' && isClause(before, colon)) return false
  return endsExpression(before) || (bracket === 'subscript' && before.text === '[')
}

/** `KEY :k VALUE :v`, and not `key:v`, where key is a column. */
const isClause = ({ text, end }: Token, colon: Token) => /^(key|value)$/i.test(text) && end < colon.start

function endsExpression({ text, tokenName, keywordName }: Token): boolean {
  if (keywordName === 'RESERVED_KEYWORD') return endingWords.has(text.toLowerCase())
  if (keywordName !== 'NO_KEYWORD') return !operators.has(text.toLowerCase())
  return (
    ['IDENT', 'SCONST', 'ICONST', 'FCONST', 'BCONST', 'XCONST', 'USCONST', 'UIDENT'].includes(tokenName) ||
    text === ')' ||
    text === ']'
  )
}

/** Keywords that are not reserved, and after which an expression goes on. */
const operators: ReadonlySet<string> = new Set([
  ...['like', 'ilike', 'between', 'similar', 'is', 'overlaps', 'escape'],
])

const endingWords: ReadonlySet<string> = new Set([
  ...['null', 'true', 'false', 'end', 'default'],
  ...['current_date', 'current_time', 'current_timestamp', 'localtime', 'localtimestamp'],
  ...['current_user', 'current_role', 'current_catalog', 'session_user', 'user'],
])
