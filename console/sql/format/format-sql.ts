import { formatDialect, postgresql } from 'sql-formatter'
import { isSameSql, mustStay, type SqlToken, tokensOf } from '../../../src/sql-text/sql-tokens.ts'
import { splitStatements, wordsOf } from '../../../src/sql-text/statements.ts'

/**
 * Lays out each statement of a text. Text between them, such as comments, stays unchanged. Undefined if a statement is
 * incomplete, or has syntax that sql-formatter does not know.
 */
export function formatSql(text: string): string | undefined {
  let formatted = ''
  let end = 0
  for (const { from, to, text: statement } of splitStatements(text)) {
    const laidOut = formatStatement(statement)
    if (laidOut === undefined) return undefined
    formatted += text.slice(end, from) + laidOut
    end = to
  }
  formatted += text.slice(end)
  // Only spaces change. A bug in this file must not change the user's text.
  return isSameSql(text, formatted) ? formatted : undefined
}

/** sql-formatter only supplies the spaces between the tokens; the tokens stay the original ones. */
function formatStatement(statement: string): string | undefined {
  if (!isLaidOut.test(wordsOf(statement).join(' '))) return statement
  const tokens = tokensOf(statement)
  const sent = standInText(tokens)
  const laidOut = layOut(sent)
  if (laidOut === undefined || withoutSpaces(laidOut) !== withoutSpaces(sent)) return undefined
  const gaps = gapsOf(laidOut)
  let at = 0
  return tokens
    .map((token, place) => {
      const gap = place === 0 ? '' : gapBefore(tokens, place, gaps.get(at) ?? '')
      at += standIn(token).length
      return gap + token.text
    })
    .join('')
}

function layOut(text: string): string | undefined {
  try {
    return formatDialect(text, { dialect: postgresql, paramTypes: { named: [':'], numbered: ['$'] } })
  } catch {
    // It throws only for text that it cannot parse.
    return undefined
  }
}

/** Other statements get line breaks where no clause begins, such as `GRANT SELECT ON`. */
const isLaidOut =
  /^(SELECT|WITH|VALUES|INSERT|UPDATE|DELETE|ALTER TABLE|CREATE( OR REPLACE| TEMP| TEMPORARY| UNLOGGED| MATERIALIZED| UNIQUE| RECURSIVE)* (TABLE|VIEW|INDEX|FUNCTION|PROCEDURE))\b/

const withoutSpaces = (text: string) => text.replace(/\s+/g, '')

/** The text with a stand-in for each token that sql-formatter might read differently than PostgreSQL, or change. */
const standInText = (tokens: readonly SqlToken[]) =>
  tokens.map((token) => `${token.gap}${standIn(token)}`).join('')

/** Without spaces, and about as wide. */
function standIn({ kind, text }: SqlToken): string {
  const width = Math.min(text.length, text.search(/\n|$/), 60)
  const filled = (open: string, close: string) =>
    open + 'x'.repeat(Math.max(1, width - open.length - close.length)) + close
  switch (kind) {
    case 'line-comment':
      return filled('--', '')
    case 'block-comment':
      return filled('/*', '*/')
    case 'string':
      return filled("'", "'")
    case 'quoted-identifier':
      return filled('"', '"')
    case 'operator':
      return knownOperators.has(text) ? text : '+'.padEnd(Math.min(text.length, 1), '+')
    default:
      return /^[\x21-\x7e]*$/.test(text) ? text : filled('', '')
  }
}

/** Other operators are replaced by a known one. */
const knownOperators: ReadonlySet<string> = new Set([
  '+',
  '-',
  '*',
  '/',
  '%',
  '<',
  '>',
  '<=',
  '>=',
  '=',
  '<>',
  '!=',
])

/** The gaps by the number of characters before them, without spaces. */
function gapsOf(text: string): ReadonlyMap<number, string> {
  const gaps = new Map<number, string>()
  let count = 0
  for (const [part] of text.matchAll(/\s+|\S+/g)) {
    if (/^\s/.test(part)) gaps.set(count, part)
    else count += part.length
  }
  return gaps
}

/** The wanted gap, unless it would join or split PostgreSQL's tokens. */
function gapBefore(tokens: readonly SqlToken[], place: number, wanted: string): string {
  const [before, after] = [tokens[place - 1]!, tokens[place]!]
  const hadGap = after.gap !== ''
  if (before.kind === 'line-comment') return wanted.includes('\n') ? wanted : `\n${wanted}`
  if (mustStay(before, after)) return hadGap ? wanted || ' ' : ''
  if (!hadGap && after.text === '(' && isCalled(before)) return ''
  const isGlued = wanted === '' && !isBracket(before) && !isBracket(after)
  return isGlued && (hadGap || isBetweenTerms(tokens, place)) ? ' ' : wanted
}

const isBracket = ({ text }: SqlToken) => /^[(),;[\]]$/.test(text)

/** sql-formatter knows only some functions, and writes `f (x)` for the others. */
const isCalled = ({ kind, text }: SqlToken) =>
  kind === 'quoted-identifier' || (kind === 'word' && !opening.has(text.toLowerCase()))

/** sql-formatter reads `a-1` as `a` and `-1`. */
const isBetweenTerms = (tokens: readonly SqlToken[], place: number) =>
  /^[-+]$/.test(tokens[place - 1]!.text) && place > 1 && endsTerm(tokens[place - 2]!)

const endsTerm = ({ kind, text }: SqlToken) =>
  kind === 'word'
    ? !opening.has(text.toLowerCase())
    : /^(number|string|quoted-identifier)$/.test(kind) || /^[)\]]$/.test(text)

/** Words after which an expression begins. */
const opening: ReadonlySet<string> = new Set(
  (
    'and as between by case check default distinct else except exists filter from having ilike in intersect into is join key ' +
    'lateral like limit not offset on or over partition references return returning select set then union unique using ' +
    'values when where with within'
  ).split(' '),
)
