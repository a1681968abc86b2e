import type { SelectStmt } from 'libpg-query'
import type { SortOrder } from '../contract/formats.ts'
import { quoteName } from '../contract/text/quote.ts'
import { maxCharacters } from './grammar.ts'
import { type ParsedStatement, parseStatements, taggedNode } from './statements.ts'

/** True if the text contains a COPY. In a plain query its data would be lost silently. */
export function containsCopy(text: string): boolean {
  // Most texts need no parsing: a keyword has only one spelling.
  return contains(text, 'CopyStmt', /copy/i)
}

/** True if the text contains a LISTEN. */
export function containsListen(text: string): boolean {
  return contains(text, 'ListenStmt', /listen/i)
}

function contains(text: string, tag: ParsedStatement['tag'], keyword: RegExp): boolean {
  if (text.length > maxCharacters || !keyword.test(text)) return false
  const parsed = parseStatements(text)
  return parsed.ok && parsed.statements.some((statement) => statement.tag === tag)
}

export type Paging = {
  readonly limit?: number
  readonly offset?: number
  /** The unquoted name of a column. */
  readonly orderBy?: string
  readonly sortOrder?: SortOrder
}

/** Wraps a text so that it returns one page of its rows, sorted. A text that cannot be paged is returned unchanged. */
export function wrapForPaging(text: string, { limit, offset, orderBy, sortOrder = 'asc' }: Paging): string {
  const clauses = [
    orderBy === undefined ? '' : ` ORDER BY ${quoteName(withoutNul(orderBy))} ${sortOrder.toUpperCase()}`,
    limit === undefined ? '' : ` LIMIT ${limit}`,
    offset === undefined ? '' : ` OFFSET ${offset}`,
  ].join('')
  const rows = clauses === '' ? undefined : pageableStatement(text)
  // The line breaks end a comment at the end of the statement.
  return rows === undefined ? text : `SELECT * FROM (\n${rows.text}\n) AS cartage_rows${clauses}`
}

/** The single statement of a text, if it can be a subquery: SELECT, VALUES, TABLE or WITH that writes nothing. */
export function pageableStatement(text: string): ParsedStatement | undefined {
  const parsed = parseStatements(text)
  if (!parsed.ok || parsed.statements.length !== 1) return undefined
  const [statement] = parsed.statements
  return statement?.tag === 'SelectStmt' && !writes(statement.node) ? statement : undefined
}

function writes(select: SelectStmt): boolean {
  return hasInto(select) || (select.withClause?.ctes ?? []).some(isWritingCte)
}

/** In a UNION, the first SELECT has the INTO. */
export function hasInto(select: SelectStmt): boolean {
  return select.intoClause !== undefined || (select.larg !== undefined && hasInto(select.larg))
}

function isWritingCte(cte: Parameters<typeof taggedNode>[0]): boolean {
  const { tag, node } = taggedNode(cte)
  return (
    tag === 'CommonTableExpr' && node.ctequery !== undefined && taggedNode(node.ctequery).tag !== 'SelectStmt'
  )
}

/** NUL would end the message to PostgreSQL. */
const withoutNul = (name: string) => name.replaceAll('\0', '')
