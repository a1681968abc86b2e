import { LRUCache } from 'lru-cache'
import { lexemes } from './lexemes.ts'
import { parseStatements, type Statement, taggedNode } from './statements.ts'

/**
 * How a text may be run so that its outcome can be asked for after a crash:
 * - `transactional`: inside a transaction of ours.
 * - `may-commit`: inside a transaction of ours first. If PostgreSQL refuses that (SQLSTATE 25001 or 2D000)
 *   nothing has happened, and the text is run again outside.
 * - `own-transaction`: outside, alone.
 * - `empty`: nothing but comments and semicolons.
 * - `unparsable`: PostgreSQL will refuse it, and should be the one to say so. Inside, like any other.
 *
 * A text that is too deep or too long for our parser, but perhaps not for PostgreSQL's, is judged by the words that its
 * statements begin with.
 */
export type JobItemKind = 'transactional' | 'may-commit' | 'own-transaction' | 'empty' | 'unparsable'

/** The same texts come again and again, and reading one takes longer than sending it. */
const known = new LRUCache<string, JobItemKind>({
  maxSize: 1_000_000,
  maxEntrySize: 10_000,
  sizeCalculation: (_kind, text) => text.length + 100,
  memoMethod: classify,
})

export function classifyJobItem(text: string): JobItemKind {
  return known.memo(text)
}

function classify(text: string): JobItemKind {
  const parsed = parseStatements(text)
  if (!parsed.ok) {
    return parsed.code === 'syntax-error' || parsed.code === 'nul-character'
      ? 'unparsable'
      : classifyByWords(text)
  }
  if (parsed.statements.length === 0) return 'empty'
  const kinds = parsed.statements.map(classifyStatement)
  if (kinds.includes('own-transaction')) return 'own-transaction'
  if (kinds.includes('may-commit')) return 'may-commit'
  return 'transactional'
}

function classifyByWords(text: string): JobItemKind {
  const kinds = [...leadingWords(text)].map((word): JobItemKind => {
    if (outsideWords.has(word)) return 'own-transaction'
    return committingWords.has(word) ? 'may-commit' : 'transactional'
  })
  if (kinds.includes('own-transaction')) return 'own-transaction'
  return kinds.includes('may-commit') ? 'may-commit' : 'transactional'
}

/** The first word of each statement, and CONCURRENTLY wherever it stands. */
function* leadingWords(text: string): Generator<string> {
  let isFirst = true
  for (const { kind, open } of lexemes(text)) {
    if (kind === 'space' || kind === 'line-comment' || kind === 'block-comment') continue
    const word = kind === 'word' ? open.toLowerCase() : ''
    if (isFirst || word === 'concurrently') yield word
    isFirst = kind === 'symbol' && open === ';'
  }
}

const outsideWords = new Set([
  ...['begin', 'start', 'commit', 'end', 'rollback', 'abort', 'prepare'],
  ...['vacuum', 'discard', 'concurrently'],
])
const committingWords = new Set(['call', 'do', 'cluster', 'reindex', 'set', 'create', 'alter', 'drop'])

function classifyStatement(statement: Statement): 'transactional' | 'may-commit' | 'own-transaction' {
  switch (statement.tag) {
    // BEGIN, COMMIT, ROLLBACK, PREPARE TRANSACTION and their like end our transaction or need to be outside of
    // one; savepoints live inside of it.
    case 'TransactionStmt':
      return isSavepoint(statement.node.kind) ? 'transactional' : 'own-transaction'

    // Files on disk that no rollback would take back.
    case 'CreatedbStmt':
    case 'DropdbStmt':
    case 'CreateTableSpaceStmt':
    case 'DropTableSpaceStmt':
    case 'AlterSystemStmt':
      return 'own-transaction'
    // SET TABLESPACE moves the files; the other changes are rows of a catalog.
    case 'AlterDatabaseStmt':
      return hasOption(statement.node.options, 'tablespace') ? 'own-transaction' : 'transactional'

    // VACUUM commits after each table; ANALYZE alone need not.
    case 'VacuumStmt':
      return statement.node.is_vacuumcmd ? 'own-transaction' : 'transactional'
    // Without a table all tables are clustered, each in a transaction; so are the parts of a partitioned table.
    case 'ClusterStmt':
      return statement.node.relation ? 'may-commit' : 'own-transaction'
    // A schema or database is done index by index; so are the parts of a partitioned table or index.
    case 'ReindexStmt':
      if (hasOption(statement.node.params, 'concurrently')) return 'own-transaction'
      return statement.node.relation ? 'may-commit' : 'own-transaction'

    // CONCURRENTLY waits between several transactions for all others to end, ours included.
    case 'IndexStmt':
    case 'DropStmt':
      return statement.node.concurrent ? 'own-transaction' : 'transactional'
    case 'AlterTableStmt':
      return statement.node.cmds?.some(isConcurrentDetach) ? 'own-transaction' : 'transactional'

    // It resets the session, which a rollback could not bring back.
    case 'DiscardStmt':
      return statement.node.target === 'DISCARD_ALL' ? 'own-transaction' : 'transactional'

    // A procedure or block may COMMIT; only running it tells.
    case 'CallStmt':
    case 'DoStmt':
      return 'may-commit'
    // Refused if a replication slot on another server is to be made or dropped, which options and catalog decide.
    case 'CreateSubscriptionStmt':
    case 'AlterSubscriptionStmt':
    case 'DropSubscriptionStmt':
      return 'may-commit'
    // Another isolation level must be set before the first query, and ours, which asks for the xid, came before.
    case 'VariableSetStmt':
      return setsTransaction(statement.node.name) ? 'may-commit' : 'transactional'

    default:
      return 'transactional'
  }
}

function isSavepoint(kind: (Statement & { tag: 'TransactionStmt' })['node']['kind']): boolean {
  return kind === 'TRANS_STMT_SAVEPOINT' || kind === 'TRANS_STMT_RELEASE' || kind === 'TRANS_STMT_ROLLBACK_TO'
}

type Nodes = readonly Parameters<typeof taggedNode>[0][]

function hasOption(options: Nodes | undefined, name: string): boolean {
  return (options ?? []).map(taggedNode).some(({ tag, node }) => tag === 'DefElem' && node.defname === name)
}

function isConcurrentDetach(command: Nodes[number]): boolean {
  const { tag, node } = taggedNode(command)
  if (tag !== 'AlterTableCmd' || !node.def) return false
  const partition = taggedNode(node.def)
  return partition.tag === 'PartitionCmd' && partition.node.concurrent === true
}

/** `SET TRANSACTION ...` and `SET transaction_isolation = ...`. */
function setsTransaction(name = ''): boolean {
  return /^transaction( snapshot|_isolation|_read_only|_deferrable)?$/i.test(name)
}
