import type { CopyStmt, CreateStmt } from 'libpg-query'
import { isBetweenWords, lexemes } from '../sql-text/lexemes.ts'
import type { ParseFailure } from './grammar.ts'
import { parseStatements, taggedNode } from './statements.ts'

export type CopyDirection = 'from' | 'to'
export type CopyFormat = 'text' | 'csv' | 'binary'

/** A COPY between the client and a table, or from a query to the client. PostgreSQL checks its options. */
export type CopyStatement = {
  readonly ok: true
  readonly text: string
  /** A CREATE TABLE precedes it in the text. */
  readonly makesTable: boolean
  readonly direction: CopyDirection
  readonly source: 'table' | 'query'
  /** As written; absent for a query. */
  readonly table?: Readonly<{ schema: string | undefined; name: string }>
  readonly format: CopyFormat
}

export type CopyRefusal = {
  readonly ok: false
  readonly code:
    | 'missing'
    | 'not-copy'
    | 'several-statements'
    | 'wrong-direction'
    | 'server-file'
    | 'program'
    | 'syntax-error'
    | 'unavailable'
  readonly message: string
  readonly position?: number
}

/** Parses a text that must be exactly one COPY in the expected direction, or says what is wrong with it. */
export function parseCopy(text: string, expected: CopyDirection): CopyStatement | CopyRefusal {
  if (text.trim() === '') return refusals.missing
  const parsed = parseStatements(text)
  if (!parsed.ok) return firstWord(text) === 'copy' ? unreadable(parsed) : refusals.notCopy
  const [first, ...others] = parsed.statements
  if (!first) return refusals.missing
  if (first.tag !== 'CopyStmt') return refusals.notCopy
  if (others.length > 0) return refusals.severalStatements
  return checkCopy(first.text, first.node, expected)
}

/** The same for COPY ... FROM STDIN, optionally after a CREATE TABLE. */
export function parseLoad(text: string): CopyStatement | CopyRefusal {
  const parsed = parseStatements(text)
  if (!parsed.ok) return unreadable(parsed)
  const [first, ...others] = parsed.statements
  if (!first) return refusals.missing
  const create = first.tag === 'CreateStmt' ? first.node : undefined
  const [copy, ...more] = create ? others : parsed.statements
  if (copy?.tag !== 'CopyStmt' || more.length > 0) return refusals.notLoad
  const checked = checkCopy(text, copy.node, 'from')
  if (!checked.ok || !create) return checked
  return tableRefusal(create, copy.node) ?? { ...checked, makesTable: true }
}

function tableRefusal(
  { relation: made }: CreateStmt,
  { relation: filled }: CopyStmt,
): CopyRefusal | undefined {
  if (made?.relpersistence === 't' || made?.schemaname?.startsWith('pg_temp')) return refusals.temporary
  const isSame = made?.relname === filled?.relname && made?.schemaname === filled?.schemaname
  return isSame ? undefined : refusals.otherTable
}

const unreadable = (failure: ParseFailure): CopyRefusal => ({
  ...failure,
  code: failure.code === 'unavailable' ? 'unavailable' : 'syntax-error',
})

function checkCopy(text: string, copy: CopyStmt, expected: CopyDirection): CopyStatement | CopyRefusal {
  const direction = copy.is_from ? 'from' : 'to'
  if (copy.is_program) return refusals.program
  if (copy.filename !== undefined) return refusals.serverFile
  if (direction !== expected) return expected === 'from' ? refusals.notFrom : refusals.notTo
  const { relname: name, schemaname: schema } = copy.relation ?? {}
  return {
    ok: true,
    text,
    makesTable: false,
    direction,
    source: copy.query ? 'query' : 'table',
    ...(name !== undefined && { table: { schema, name } }),
    format: formatOf(copy),
  }
}

function formatOf(copy: CopyStmt): CopyFormat {
  for (const option of copy.options ?? []) {
    const { tag, node } = taggedNode(option)
    if (tag !== 'DefElem' || node.defname !== 'format' || !node.arg) continue
    const value = taggedNode(node.arg)
    if (value.tag === 'String' && (value.node.sval === 'csv' || value.node.sval === 'binary'))
      return value.node.sval
  }
  return 'text'
}

function firstWord(text: string): string | undefined {
  for (const lexeme of lexemes(text)) {
    if (!isBetweenWords(lexeme)) return lexeme.kind === 'word' ? lexeme.open.toLowerCase() : undefined
  }
  return undefined
}

const refusals = {
  missing: refusal('missing', 'SQL is missing'),
  notCopy: refusal('not-copy', 'SQL must start with COPY'),
  severalStatements: refusal('several-statements', 'SQL must be exactly one COPY statement'),
  notLoad: refusal(
    'several-statements',
    'SQL must be one COPY ... FROM STDIN, with nothing but a CREATE TABLE before it',
  ),
  otherTable: refusal(
    'several-statements',
    'COPY must fill the table that CREATE TABLE makes: use the same name in both',
  ),
  temporary: refusal(
    'several-statements',
    'CREATE TABLE must not make a temporary table: it would be dropped with its rows at once',
  ),
  notFrom: refusal('wrong-direction', 'SQL must be COPY ... FROM STDIN, not COPY ... TO'),
  notTo: refusal('wrong-direction', 'SQL must be COPY ... TO STDOUT, not COPY ... FROM'),
  serverFile: refusal('server-file', 'COPY with a server file is not allowed, use STDIN or STDOUT'),
  program: refusal('program', 'COPY with PROGRAM is not allowed, use STDIN or STDOUT'),
} as const

function refusal(code: CopyRefusal['code'], message: string): CopyRefusal {
  return { ok: false, code, message }
}
