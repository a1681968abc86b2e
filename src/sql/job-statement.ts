import { LRUCache } from 'lru-cache'
import { isBetweenWords, lexemes } from '../sql-text/lexemes.ts'
import { nextTurn } from '../waiting/next-turn.ts'
import { type ParsedStatement, parseStatements, taggedNode } from './statements.ts'

/**
 * How a text can run so that its outcome is known even after a crash:
 * - `transactional`: inside a transaction of ours.
 * - `may-commit`: inside a transaction of ours first. If PostgreSQL refuses that (SQLSTATE 25001 or 2D000), nothing has
 *   happened, and the text runs again outside.
 * - `own-transaction`: outside, alone.
 * - `empty`: only comments and semicolons.
 * - `unparsable`: runs inside a transaction, so that PostgreSQL reports its own syntax error.
 *
 * A text that is too deep or too long for our parser, but perhaps not for PostgreSQL's, is classified by the first
 * words of its statements.
 */
export type JobItemKind = 'transactional' | 'may-commit' | 'own-transaction' | 'empty' | 'unparsable'

const longestKnown = 10_000

/** The same texts repeat, and parsing takes longer than sending. */
const known = new LRUCache<string, JobItemKind>({
  maxSize: 1_000_000,
  maxEntrySize: longestKnown,
  sizeCalculation: (_kind, text) => text.length + 100,
  memoMethod: classify,
})

/** The kinds of texts that are too long for the cache above. */
const knownLong = new LRUCache<string, JobItemKind>({ max: 8 })

/** A long text must have been learned. */
export function classifyJobItem(text: string): JobItemKind {
  return knownLong.get(text) ?? known.memo(text)
}

export const isLongJobItem = (text: string) => text.length > longestKnown

/** Classifies a long text over several turns of the event loop. */
export async function learnJobItem(text: string): Promise<void> {
  if (!knownLong.has(text)) knownLong.set(text, classifyParsed(text) ?? (await classifyInSteps(text)))
}

function classify(text: string): JobItemKind {
  return classifyParsed(text) ?? classifyByWords(leadingWords(text))
}

/** Undefined: too deep or too long for our parser. */
function classifyParsed(text: string): JobItemKind | undefined {
  const parsed = parseStatements(text)
  if (!parsed.ok) {
    return parsed.code === 'syntax-error' || parsed.code === 'nul-character' ? 'unparsable' : undefined
  }
  if (parsed.statements.length === 0) return 'empty'
  return strictest(parsed.statements.map(classifyStatement))
}

/** What one statement of a text needs, the whole text needs. */
function strictest(kinds: readonly StatementKind[]): StatementKind {
  if (kinds.includes('own-transaction')) return 'own-transaction'
  return kinds.includes('may-commit') ? 'may-commit' : 'transactional'
}

type StatementKind = Exclude<JobItemKind, 'empty' | 'unparsable'>

async function classifyInSteps(text: string): Promise<JobItemKind> {
  const words = new Set<string>()
  let count = 0
  for (const word of leadingWords(text, () => ++count % stepLexemes === 0)) {
    if (word === null) await nextTurn()
    else words.add(word)
  }
  return classifyByWords(words)
}

/** About 5 ms. */
const stepLexemes = 4_096

function classifyByWords(words: Iterable<string | null>): JobItemKind {
  return strictest(
    [...words].map((word) => {
      if (word === null) return 'transactional'
      if (outsideWords.has(word)) return 'own-transaction'
      return committingWords.has(word) ? 'may-commit' : 'transactional'
    }),
  )
}

/** The first word of each statement, and CONCURRENTLY anywhere. Null where the caller wants to pause. */
function* leadingWords(text: string, isPause: () => boolean = () => false): Generator<string | null> {
  let isFirst = true
  for (const lexeme of lexemes(text)) {
    if (isPause()) yield null
    if (isBetweenWords(lexeme)) continue
    const { kind, open } = lexeme
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

function classifyStatement(statement: ParsedStatement): StatementKind {
  switch (statement.tag) {
    // BEGIN, COMMIT, ROLLBACK, PREPARE TRANSACTION and the like end our transaction or must run outside one; savepoints
    // belong inside.
    case 'TransactionStmt':
      return isSavepoint(statement.node.kind) ? 'transactional' : 'own-transaction'

    // These statements change files on disk, which a rollback does not undo.
    case 'CreatedbStmt':
    case 'DropdbStmt':
    case 'CreateTableSpaceStmt':
    case 'DropTableSpaceStmt':
    case 'AlterSystemStmt':
      return 'own-transaction'
    // SET TABLESPACE moves files; the other changes are catalog rows.
    case 'AlterDatabaseStmt':
      return hasOption(statement.node.options, 'tablespace') ? 'own-transaction' : 'transactional'

    // VACUUM commits after each table; plain ANALYZE does not have to.
    case 'VacuumStmt':
      return statement.node.is_vacuumcmd ? 'own-transaction' : 'transactional'
    // Without a table, each table is clustered in its own transaction; so are the partitions of a partitioned table.
    case 'ClusterStmt':
      return statement.node.relation ? 'may-commit' : 'own-transaction'
    // A schema or database is reindexed index by index; so are the partitions of a partitioned table or index.
    case 'ReindexStmt':
      if (hasOption(statement.node.params, 'concurrently')) return 'own-transaction'
      return statement.node.relation ? 'may-commit' : 'own-transaction'

    // CONCURRENTLY waits between its transactions for all others to end, ours included.
    case 'IndexStmt':
    case 'DropStmt':
      return statement.node.concurrent ? 'own-transaction' : 'transactional'
    case 'AlterTableStmt':
      return statement.node.cmds?.some(isConcurrentDetach) ? 'own-transaction' : 'transactional'

    // Resets the session, which a rollback does not undo.
    case 'DiscardStmt':
      return statement.node.target === 'DISCARD_ALL' ? 'own-transaction' : 'transactional'

    // A procedure or block may COMMIT; only running it shows.
    case 'CallStmt':
    case 'DoStmt':
      return 'may-commit'
    // Refused if it has to make or drop a replication slot on another server, which depends on options and catalog.
    case 'CreateSubscriptionStmt':
    case 'AlterSubscriptionStmt':
    case 'DropSubscriptionStmt':
      return 'may-commit'
    // An isolation level must be set before the first query, and our query for the xid has already run.
    case 'VariableSetStmt':
      return setsTransaction(statement.node.name) ? 'may-commit' : 'transactional'

    default:
      return 'transactional'
  }
}

/**
 * True if a text that runs outside of a transaction of ours is one transaction by itself, so that an error has undone all of
 * it: `begin ...; ...; commit`, or `set transaction ...; ...`.
 */
export function isOneTransaction(text: string): boolean {
  const parsed = parseStatements(text)
  if (!parsed.ok || parsed.statements.length < 2) return false
  const { statements } = parsed
  if (statements[0]!.tag === 'VariableSetStmt')
    return setsTransaction(statements[0]!.node.name) && statements.slice(1).every(isTransactional)
  return opens(statements[0]!) && closes(statements.at(-1)!) && statements.slice(1, -1).every(isInBlock)
}

/**
 * True for one command that PostgreSQL runs in several transactions of its own, such as VACUUM or CREATE INDEX CONCURRENTLY. Not
 * for procedures, blocks and texts with a COMMIT, which can do anything for any time.
 */
export function isUtility(text: string): boolean {
  if (isLongJobItem(text)) return false
  const parsed = parseStatements(text)
  if (!parsed.ok || parsed.statements.length !== 1) return false
  const statement = parsed.statements[0]!
  return utilityTags.has(statement.tag) && !isTransactional(statement)
}

const utilityTags = new Set([
  ...['VacuumStmt', 'ClusterStmt', 'ReindexStmt', 'IndexStmt', 'DropStmt', 'AlterTableStmt'],
  ...['CreatedbStmt', 'DropdbStmt', 'AlterDatabaseStmt', 'CreateTableSpaceStmt', 'DropTableSpaceStmt'],
])

const isTransactional = (statement: ParsedStatement) => classifyStatement(statement) === 'transactional'

const isInBlock = ({ tag, node }: ParsedStatement) => tag !== 'TransactionStmt' || isSavepoint(node.kind)

const opens = ({ tag, node }: ParsedStatement) =>
  tag === 'TransactionStmt' && (node.kind === 'TRANS_STMT_BEGIN' || node.kind === 'TRANS_STMT_START')

const closes = ({ tag, node }: ParsedStatement) =>
  tag === 'TransactionStmt' && node.kind === 'TRANS_STMT_COMMIT' && !node.chain

function isSavepoint(kind: (ParsedStatement & { tag: 'TransactionStmt' })['node']['kind']): boolean {
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
