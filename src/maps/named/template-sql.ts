import { quoteLiteral, quoteName } from '../../contract/text/quote.ts'
import { type Lexeme, lexemes, textOf } from '../../sql-text/lexemes.ts'

export type PlaceholderType = 'sql_literal' | 'sql_ident' | 'number' | 'css_color'

/** A value that was checked against its type. */
export type PlacedValue = Readonly<{ type: PlaceholderType; text: string }>

export type PlacedValues = Readonly<Record<string, PlacedValue>>

/**
 * Places values into the SQL of a template, each according to its place, so that none can add to the statement:
 *
 *   between other words     a number as it is, an identifier or a literal of its own
 *   '...'  E'...'  "..."    part of the text, with quotes (in E'' backslashes too) escaped
 *   elsewhere               stripped: comments, dollar bodies, U&'', a literal inside a literal
 */
export function placeInSql(template: string, values: PlacedValues): string {
  const hole = holeOf(values)
  if (!hole) return template
  return [...lexemes(template, hole)].map((part) => placed(part, hole, values)).join('')
}

/** Matches `<%= name %>` of these names. */
export function holeOf(values: PlacedValues): RegExp | undefined {
  const names = Object.keys(values)
  return names.length === 0 ? undefined : new RegExp(`<%=\\s*(?:${names.join('|')})\\s*%>`)
}

export const nameIn = (hole: string) => /^<%=\s*(\w+)\s*%>$/.exec(hole)![1]!

function placed(part: Lexeme, hole: RegExp, values: PlacedValues): string {
  if (part.kind === 'hole') return ` ${ownWord(part, values[nameIn(part.open)]!)} `
  if (!hole.test(part.body)) return textOf(part)
  const encode = encodingIn(part, hole)
  const body = part.body.replace(new RegExp(hole.source, 'g'), (found) => encode(values[nameIn(found)]!.text))
  return part.open + body + part.close
}

/** After `E'a'` and a line break, a literal continues that one. */
function ownWord({ fillsIn }: Lexeme, { type, text }: PlacedValue): string {
  if (type === 'number') return text
  if (type === 'sql_ident') return quoteName(text)
  if (fillsIn === 'string' || fillsIn === undefined) return plainLiteral(text)
  if (fillsIn === 'escape-string') return `'${doubleBackslashes(doubleQuotes(text))}'`
  return `'${strip(text)}'`
}

/** Not E'', which may follow a word that ends in its place. */
const plainLiteral = (text: string) => (text.includes('\\') ? quoteLiteral(text) : `'${doubleQuotes(text)}'`)

type Encode = (text: string) => string

function encodingIn({ kind, body }: Lexeme, hole: RegExp): Encode {
  const around = body.replace(new RegExp(hole.source, 'g'), '')
  if (kind === 'quoted-identifier') return (text) => text.replaceAll('"', '""')
  if (kind === 'string' && !/'|\$/.test(around)) return doubleQuotes
  if (kind === 'escape-string' && !/['$\\]/.test(around))
    return (text) => doubleBackslashes(doubleQuotes(text))
  return strip
}

const doubleQuotes: Encode = (text) => text.replaceAll("'", "''")
const doubleBackslashes: Encode = (text) => text.replaceAll('\\', '\\\\')

/** Nothing is left that could end a quoted place or a comment. */
const strip: Encode = (text) =>
  text
    .replace(/['"\\$]/g, '')
    .replace(/[\n\r\v\f\u0085\u2028\u2029]+/g, ' ')
    .replace(/[*/-]{2,}/g, ' ')
    .replace(/^[*/-]+|[*/-]+$/g, '') || ' '
