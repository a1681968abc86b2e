import type { CopyStmt, Node } from 'libpg-query'
import { isBetweenWords, lexemes } from '../sql-text/lexemes.ts'
import type { CopyFormat, CopyStatement } from './copy-statement.ts'
import { parseStatements, taggedNode } from './statements.ts'

/** The format of the data of a COPY ... FROM STDIN, as far as it is needed to find records. */
export type CopyDialect = Readonly<{
  format: CopyFormat
  /** For CSV. */
  quote: string
  escape: string
  header: 'none' | 'ignored' | 'matched'
  /** As PostgreSQL calls it; undefined: UTF8. */
  encoding: string | undefined
}>

/** A load, in the pieces that one with more than a plain COPY needs. */
export type CopyLoad = Readonly<{
  /** The CREATE TABLE before the COPY. */
  create: string | undefined
  copy: string
  /** Characters of the whole text before the COPY, by which the positions of its errors are off. */
  copyAt: number
  table: Readonly<{ schema: string | undefined; name: string }>
  /** The columns that the COPY lists; undefined: all columns of the table. */
  columns: readonly string[] | undefined
  dialect: CopyDialect
  isFrozen: boolean
}>

/** Takes a COPY ... FROM STDIN that was parsed before apart. */
export function readLoad({ text, table }: CopyStatement): CopyLoad {
  const parsed = parseStatements(text)
  const statements = parsed.ok ? parsed.statements : []
  const last = statements.at(-1)
  if (last?.tag !== 'CopyStmt' || !table) throw new TypeError('not a COPY ... FROM STDIN')
  const create = statements.length > 1 ? statements[0]!.text : undefined
  const options = optionsOf(last.node)
  return {
    create,
    copy: last.text,
    copyAt: text.lastIndexOf(last.text),
    table,
    columns: columnsOf(last.node),
    dialect: dialectOf(options),
    isFrozen: isOn(options, 'freeze'),
  }
}

/** The same COPY into another table; the column list is written out. */
export function copyInto(load: CopyLoad, table: string, columns: readonly string[]): string {
  const { before, after } = aroundTable(load.copy)
  const list = load.columns ? '' : ` (${columns.join(', ')})`
  return `${before}${table}${list}${after}`
}

type CopyOptions = ReadonlyMap<string, Node | undefined>

function optionsOf(copy: CopyStmt): CopyOptions {
  const options = (copy.options ?? []).map(taggedNode)
  return new Map(
    options.flatMap(({ tag, node }) => (tag === 'DefElem' ? [[node.defname ?? '', node.arg] as const] : [])),
  )
}

function dialectOf(options: CopyOptions): CopyDialect {
  const format = wordOf(options, 'format') ?? 'text'
  const quote = wordOf(options, 'quote') ?? '"'
  return {
    format: format === 'csv' || format === 'binary' ? format : 'text',
    quote,
    escape: wordOf(options, 'escape') ?? quote,
    header: headerOf(options),
    encoding: wordOf(options, 'encoding'),
  }
}

function headerOf(options: CopyOptions): CopyDialect['header'] {
  if (wordOf(options, 'header')?.toLowerCase() === 'match') return 'matched'
  return isOn(options, 'header') ? 'ignored' : 'none'
}

/** An option without a value is on. */
function isOn(options: CopyOptions, name: string): boolean {
  if (!options.has(name)) return false
  const value = wordOf(options, name)
  return value === undefined || /^(true|on|1)$/i.test(value)
}

function wordOf(options: CopyOptions, name: string): string | undefined {
  const arg = options.get(name)
  if (!arg) return undefined
  const { tag, node } = taggedNode(arg)
  if (tag === 'String') return node.sval ?? ''
  if (tag === 'Integer') return String(node.ival ?? 0)
  return tag === 'Boolean' ? String(node.boolval ?? false) : undefined
}

function columnsOf({ attlist }: CopyStmt): readonly string[] | undefined {
  return attlist?.map((item) => {
    const { tag, node } = taggedNode(item)
    return tag === 'String' ? (node.sval ?? '') : ''
  })
}

/** The text around the name of the table: `COPY`, perhaps `BINARY`, then words and dots. */
function aroundTable(copy: string): { before: string; after: string } {
  let at = 0
  let start = -1
  let end = 0
  let words = 0
  let isAfterDot = false
  for (const lexeme of lexemes(copy)) {
    const text = lexeme.open + lexeme.body + lexeme.close
    const isDot = lexeme.kind === 'symbol' && text === '.'
    if (!isBetweenWords(lexeme)) {
      if (start >= 0 && !isDot && !isAfterDot) break
      if (start < 0 && words > 0) start = at
      if (start >= 0) end = at + text.length
      words++
      isAfterDot = isDot
    }
    at += text.length
  }
  return { before: copy.slice(0, start), after: copy.slice(end) }
}
