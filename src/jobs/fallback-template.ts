import { isBetweenWords, type Lexeme, lexemes, type StringKind, textOf } from '../sql-text/lexemes.ts'

export type FallbackValues = {
  readonly jobId: string
  /** Empty for a fallback after a success. */
  readonly errorMessage: string
}

/**
 * Fills `<%= job_id %>` and `<%= error_message %>` into a fallback, each according to its place, so that no error text
 * can break the statement or add to it:
 *
 *   '...'  E'...'  "..."         part of the text, with quotes (in E'' backslashes too) escaped
 *   $tag$...$tag$                part of the text; with another tag if the text would end there
 *   a literal inside a literal   stripped
 *   comments, U&'', B'', X''     stripped
 *   between other words          a literal of its own
 *
 * The literals of DO and CREATE FUNCTION are code: inside them every value is stripped, and between other words it
 * becomes a literal of its own.
 */
export function renderFallback(template: string, { jobId, errorMessage }: FallbackValues): string {
  const fill = filling(template, { job_id: jobId, error_message: errorMessage })
  const parts = [...lexemes(template, hole)]
  const statement: StatementSoFar = { head: [], last: '' }
  const rendered: string[] = []
  for (const [index, part] of parts.entries()) {
    rendered.push(
      part.kind === 'hole'
        ? ownLiteral(part, fill, rendered.at(-1)?.at(-1), parts[index + 1])
        : renderPart(part, fill, statement),
    )
    advance(statement, part)
  }
  return rendered.join('')
}

/** Each value is encoded once for each kind of place. */
function filling(template: string, values: Readonly<Record<string, string>>): Fill {
  const count = template.match(holes)?.length ?? 1
  const longest = Math.ceil(maxFilledLength / count)
  const known = new Map<Encode, Map<string, string>>()
  return (text, encode) =>
    text.replace(holes, (_, name: string) => {
      const encoded = known.get(encode) ?? new Map<string, string>()
      known.set(encode, encoded)
      const value = encoded.get(name) ?? encode(values[name]!.slice(0, longest).replaceAll('\0', ''))
      encoded.set(name, value)
      return value
    })
}

/** Total of all values: a 16 KB fallback could repeat a 64 KB error 800 times. */
const maxFilledLength = 128 * 1024

const hole = /<%=\s*(?:job_id|error_message)\s*%>/
const holes = /<%=\s*(job_id|error_message)\s*%>/g

type Encode = (value: string) => string
type Fill = (text: string, encode: Encode) => string

const asItIs: Encode = (value) => value
const doubleQuotes: Encode = (value) => value.replaceAll("'", "''")
const doubleIdentifierQuotes: Encode = (value) => value.replaceAll('"', '""')
const doubleBackslashes: Encode = (value) => value.replaceAll('\\', '\\\\')

/** Safe in any quoted place or comment: nothing is left that could close it, or escape its end. */
const strip: Encode = (value) =>
  value
    .replace(/['"\\$]/g, '')
    .replace(/[\n\r\v\f\u0085\u2028\u2029]+/g, ' ')
    .replace(/\*\/|\/\*|--/g, ' ')
    // The template may have one half of such a pair beside the value, or both around it.
    .replace(/^[*/-]+/, '')
    .replace(/(?<![*/-])[*/-]+$/, '') || ' '

/** After `E'a'` and a line break, a literal continues that one. */
const literalEncodings: Readonly<Record<StringKind, Encode>> = {
  string: doubleQuotes,
  'escape-string': (value) => doubleBackslashes(doubleQuotes(value)),
  'unicode-string': strip,
  'bit-string': strip,
}

/** Separated from its neighbours: `E<%= job_id %>` must not become an escape string. */
function ownLiteral(part: Lexeme, fill: Fill, before: string | undefined, next: Lexeme | undefined): string {
  const literal = `'${fill(textOf(part), literalEncodings[part.fillsIn ?? 'string'])}'`
  return space(before) + literal + space(next && textOf(next)[0])
}

function space(neighbour: string | undefined): string {
  return neighbour === undefined || /[ \t\n\r\f(),;=]/.test(neighbour) ? '' : ' '
}

function renderPart(part: Lexeme, fill: Fill, statement: StatementSoFar): string {
  if (!hole.test(part.body)) return textOf(part)
  const body = renderBody(part, fill, isCode(statement))
  if (part.kind !== 'dollar-string') return part.open + body + part.close
  const tag = tagFor(body, part.open)
  return tag + body + (part.close && tag)
}

function renderBody({ kind, body }: Lexeme, fill: Fill, isCode: boolean): string {
  switch (kind) {
    case 'string':
      return renderInside(body.match(/''|./gs)!, fill, literalEncodings[kind], isCode)
    case 'escape-string':
      return renderInside(escapePieces(body), fill, literalEncodings[kind], isCode)
    case 'dollar-string':
      return renderInside(body.split(''), fill, asItIs, isCode)
    case 'quoted-identifier':
      return fill(body, doubleIdentifierQuotes)
    default:
      return fill(body, strip)
  }
}

/** The backslash of `\<` has no effect, but would escape the value. */
function escapePieces(body: string): string[] {
  const pieces = body.match(/''|\\(?:[0-7]{1,3}|x[\da-fA-F]{1,2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|.)|./gs)!
  return pieces.map((piece) => (piece === '\\<' ? '<' : piece))
}

/** The template's tag, or another one if the body contains it. */
function tagFor(body: string, tag: string): string {
  if (!endsEarly(body, tag)) return tag
  const taken = new Set(body.match(/\$t\d+(?=\$|$)/g))
  let n = 0
  while (taken.has(`$t${n}`)) n += 1
  return `$t${n}$`
}

const endsEarly = (body: string, tag: string) => `${body}${tag}`.indexOf(tag) < body.length

/** Reads a literal as if its text were SQL, which it may be. Each piece stands for one character of that text. */
function renderInside(pieces: readonly string[], fill: Fill, encode: Encode, isCode: boolean): string {
  let rendered = ''
  let at = 0
  for (const part of lexemes(pieces.map(spelledCharacter).join(''), hole)) {
    const end = at + textOf(part).length
    const raw = pieces.slice(at, end).join('')
    if (isCode && part.kind === 'hole') rendered += encode("'") + fill(raw, strip) + encode("'")
    else rendered += fill(raw, isCode || isClosedLiteral(part) ? strip : encode)
    at = end
  }
  return rendered
}

function spelledCharacter(piece: string): string {
  if (piece.length === 1 || piece === "''") return piece.charAt(0)
  if (piece.length === 2) return { '\\n': '\n', '\\r': '\r', '\\t': '\t' }[piece] ?? piece.charAt(1)
  return '?'
}

/** An unclosed one is more likely an apostrophe. */
function isClosedLiteral({ kind, close }: Lexeme): boolean {
  return kind.endsWith('string') && close !== ''
}

/** What has been seen of a statement: its first words and its last one. */
type StatementSoFar = { head: string[]; last: string }

function advance(statement: StatementSoFar, part: Lexeme): void {
  if (isBetweenWords(part)) return
  statement.last = textOf(part).toLowerCase()
  if (statement.last === ';') statement.head = []
  else if (statement.head.length < 4) statement.head.push(statement.last)
}

function isCode({ head: [first, ...others], last }: StatementSoFar): boolean {
  if (first === 'do') return true
  return first === 'create' && last === 'as' && (others.includes('function') || others.includes('procedure'))
}
