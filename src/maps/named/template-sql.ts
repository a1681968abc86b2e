import { quoteName } from '../../contract/text/quote.ts'
import { type Lexeme, lexemes, textOf } from '../../sql-text/lexemes.ts'
import type { Filling, Holes, PlacedValue } from './filling.ts'

/**
 * Places values into the SQL of a template, each according to its place, so that none can add to the statement:
 *
 *   between other words     a number as it is, an identifier or a literal of its own
 *   '...'  E'...'  "..."    part of the text, with quotes (in E'' backslashes too) escaped
 *   elsewhere               stripped: comments, dollar bodies, U&'', a literal inside a literal
 */
export function placeInSql(template: string, filling: Filling): string {
  const { holes } = filling
  if (!holes?.one.test(template)) return template
  return [...lexemes(template, holes.one)].map((part) => placed(part, holes, filling)).join('')
}

function placed(part: Lexeme, holes: Holes, filling: Filling): string {
  if (part.kind === 'hole') return ` ${filling.fill(part.open, (value) => ownWord(part, value))} `
  if (!holes.one.test(part.body)) return textOf(part)
  const encode = encodingIn(part, holes)
  const body = part.body.replace(holes.all, (found) => filling.fill(found, ({ text }) => encode(text)))
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

/** Never E'', which would change how a literal on the next line is read. Sessions have standard_conforming_strings on. */
const plainLiteral = (text: string) => `'${doubleQuotes(text)}'`

type EncodeText = (text: string) => string

function encodingIn({ kind, body }: Lexeme, { all }: Holes): EncodeText {
  const around = body.replace(all, '')
  if (kind === 'quoted-identifier') return (text) => text.replaceAll('"', '""')
  if (kind === 'string' && !/'|\$/.test(around)) return doubleQuotes
  if (kind === 'escape-string' && !/['$\\]/.test(around))
    return (text) => doubleBackslashes(doubleQuotes(text))
  return strip
}

const doubleQuotes: EncodeText = (text) => text.replaceAll("'", "''")
const doubleBackslashes: EncodeText = (text) => text.replaceAll('\\', '\\\\')

/** Nothing is left that could end a quoted place or a comment. */
const strip: EncodeText = (text) =>
  text
    .replace(/['"\\$]/g, '')
    .replace(/[\n\r\v\f\u0085\u2028\u2029]+/g, ' ')
    .replace(/[*/-]{2,}/g, ' ')
    .replace(/^[*/-]+|[*/-]+$/g, '') || ' '
