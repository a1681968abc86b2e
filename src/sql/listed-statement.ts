import type { Node, SelectStmt } from 'libpg-query'
import { LRUCache } from 'lru-cache'
import type { ParseFailure } from './grammar.ts'
import { hasInto } from './query-kind.ts'
import { parseStatements, type StatementNode, taggedNode } from './statements.ts'

/** Whether a text has only statements of the list for callers without a key. What cannot be read is a failure. */
export type Listed = 'listed' | 'not-listed' | ParseFailure

/** The same texts come again and again, and reading one takes longer than sending it. */
const known = new LRUCache<string, Listed>({
  maxSize: 1_000_000,
  maxEntrySize: 10_000,
  sizeCalculation: (_verdict, text) => text.length + 100,
})

/** By PostgreSQL's grammar: queries, changes of rows, EXPLAIN of these, SHOW, cursors and transactions; no XMLTABLE. */
export function judgeListed(text: string): Listed {
  const before = known.get(text)
  if (before !== undefined) return before
  const verdict = judge(text)
  // The grammar may be ready the next time.
  if (typeof verdict === 'string' || verdict.code !== 'unavailable') known.set(text, verdict)
  return verdict
}

function judge(text: string): Listed {
  const parsed = parseStatements(text)
  if (!parsed.ok) return parsed
  if (xmlTable.test(text) && hasXmlTable(parsed.statements)) return 'not-listed'
  return parsed.statements.every(isListed) ? 'listed' : 'not-listed'
}

/** Its expressions can run for hours and look at no signal, and PostgreSQL asks for no right that could be revoked. */
function hasXmlTable(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false
  return Object.entries(node).some(([name, value]) => name === 'RangeTableFunc' || hasXmlTable(value))
}

/** A keyword has no other spelling. Most texts do not hold it, and their trees need not be searched. */
const xmlTable = /xmltable/i

function isListed(statement: StatementNode): boolean {
  switch (statement.tag) {
    case 'ExplainStmt':
    case 'DeclareCursorStmt':
    case 'CopyStmt':
      // A COPY of a table has no query; the endpoints for copies look at the rest.
      return statement.node.query === undefined || isListedQuery(statement.node.query)
    case 'VariableShowStmt':
    case 'FetchStmt':
    case 'ClosePortalStmt':
      return true
    case 'TransactionStmt':
      return !/PREPARE/.test(statement.node.kind ?? 'PREPARE')
    default:
      return isQuery(statement)
  }
}

function isListedQuery(node: Node): boolean {
  const statement = taggedNode(node)
  return statement.tag === 'DeclareCursorStmt' ? isListed(statement) : isQuery(statement)
}

/** SELECT stands for VALUES, TABLE and WITH, too. With INTO it makes a table. */
function isQuery(statement: StatementNode): boolean {
  if (statement.tag === 'SelectStmt') return !hasInto(statement.node as SelectStmt)
  return rowChanges.has(statement.tag)
}

const rowChanges: ReadonlySet<string> = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'])
