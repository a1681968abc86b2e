import type { Node, SelectStmt } from 'libpg-query'
import { LRUCache } from 'lru-cache'
import type { ParseFailure } from './grammar.ts'
import { hasInto } from './query-kind.ts'
import { parseStatements, type StatementNode, taggedNode } from './statements.ts'

/** Whether a text has only statements that callers without a key may run. A text that cannot be parsed is a failure. */
export type ListedVerdict = 'listed' | 'not-listed' | ParseFailure

/** The same texts repeat, and parsing takes longer than sending. */
const known = new LRUCache<string, ListedVerdict>({
  maxSize: 1_000_000,
  maxEntrySize: 10_000,
  sizeCalculation: (_verdict, text) => text.length + 100,
})

/**
 * Listed, by PostgreSQL's grammar: queries, changes of rows, EXPLAIN of these, SHOW, cursors and transactions; no
 * XMLTABLE.
 */
export function judgeListed(text: string): ListedVerdict {
  const before = known.get(text)
  if (before !== undefined) return before
  const verdict = classify(text)
  // Not remembered: the grammar may be ready next time.
  if (typeof verdict === 'string' || verdict.code !== 'unavailable') known.set(text, verdict)
  return verdict
}

function classify(text: string): ListedVerdict {
  const parsed = parseStatements(text)
  if (!parsed.ok) return parsed
  if (xmlTable.test(text) && hasXmlTable(parsed.statements)) return 'not-listed'
  return parsed.statements.every(isListed) ? 'listed' : 'not-listed'
}

/** XMLTABLE can run for hours without checking for interrupts, and there is no privilege on it to revoke. */
function hasXmlTable(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false
  return Object.entries(node).some(([name, value]) => name === 'RangeTableFunc' || hasXmlTable(value))
}

/** A keyword has only one spelling. Most texts do not contain it, so their trees need no search. */
const xmlTable = /xmltable/i

function isListed(statement: StatementNode): boolean {
  switch (statement.tag) {
    case 'ExplainStmt':
    case 'DeclareCursorStmt':
    case 'CopyStmt':
      // COPY of a table has no query; the copy endpoints check the rest.
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

/** SELECT also stands for VALUES, TABLE and WITH. With INTO it makes a table. */
function isQuery(statement: StatementNode): boolean {
  if (statement.tag === 'SelectStmt') return !hasInto(statement.node as SelectStmt)
  return rowChanges.has(statement.tag)
}

const rowChanges: ReadonlySet<string> = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'])
