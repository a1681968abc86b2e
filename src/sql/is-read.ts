import type { Node } from 'libpg-query'
import { LRUCache } from 'lru-cache'
import { parseStatements, type StatementNode, taggedNode } from './statements.ts'

/** The same texts repeat, and parsing takes longer than sending. */
const known = new LRUCache<string, boolean>({
  maxSize: 1_000_000,
  maxEntrySize: 10_000,
  sizeCalculation: (_verdict, text) => text.length + 100,
})

/**
 * True if a text is one statement that only reads, apart from what its functions do: SELECT, VALUES, TABLE or WITH, EXPLAIN of
 * these, SHOW, or COPY TO. A text that cannot be parsed is none.
 */
export function isRead(text: string): boolean {
  const before = known.get(text)
  if (before !== undefined) return before
  const parsed = parseStatements(text)
  // Not remembered: the grammar may be ready next time.
  if (!parsed.ok) return false
  const [statement, ...others] = parsed.statements
  const verdict = statement !== undefined && others.length === 0 && reads(statement)
  known.set(text, verdict)
  return verdict
}

function reads(statement: StatementNode): boolean {
  switch (statement.tag) {
    case 'VariableShowStmt':
      return true
    case 'SelectStmt':
      return !hasWrite(statement.node)
    case 'ExplainStmt':
      return isReadingQuery(statement.node.query)
    case 'CopyStmt': {
      const { is_from: isFrom, relation, query } = statement.node
      return !isFrom && (relation !== undefined || isReadingQuery(query))
    }
    default:
      return false
  }
}

function isReadingQuery(query: Node | undefined): boolean {
  if (query === undefined) return false
  const { tag, node } = taggedNode(query)
  return tag === 'SelectStmt' && !hasWrite(node)
}

/** A tree can be deeper than the stack of calls. */
function hasWrite(tree: object): boolean {
  const open: object[] = [tree]
  for (let node = open.pop(); node !== undefined; node = open.pop())
    for (const [name, value] of Object.entries(node)) {
      if (writing.has(name)) return true
      if (typeof value === 'object' && value !== null) open.push(value)
    }
  return false
}

/** Names in the tree: statements in a WITH, SELECT INTO, and SELECT FOR UPDATE, which a standby refuses. */
const writing: ReadonlySet<string> = new Set([
  'InsertStmt',
  'UpdateStmt',
  'DeleteStmt',
  'MergeStmt',
  'intoClause',
  'lockingClause',
])
