import type { Node, RawStmt } from 'libpg-query'
import { type ParseFailure, parseTree } from './grammar.ts'

/** One statement of a text: `text` without the semicolon, `tag` its node type, `node` its content. */
export type ParsedStatement = { readonly text: string } & StatementNode

/** A union over the grammar's nodes, so that checking `tag` narrows the type of `node`. */
export type StatementNode = Tagged<Node>
type Tagged<Each> = Each extends unknown
  ? { [Tag in keyof Each]: { readonly tag: Tag; readonly node: Each[Tag] } }[keyof Each]
  : never

export type ParsedStatements =
  | { readonly ok: true; readonly statements: readonly ParsedStatement[] }
  | ParseFailure

/** Splits a text into its statements. A text of only comments and semicolons has none. */
export function parseStatements(text: string): ParsedStatements {
  if (last?.text === text) return last.parsed
  if (!last) setImmediate(() => (last = undefined))
  last = { text, parsed: readStatements(text) }
  return last.parsed
}

/** One turn of the event loop asks several questions about the same text, and parsing is slow. */
let last: Readonly<{ text: string; parsed: ParsedStatements }> | undefined

function readStatements(text: string): ParsedStatements {
  const parsed = parseTree(text)
  if (!parsed.ok) return parsed
  const bytes = Buffer.from(text)
  return { ok: true, statements: (parsed.tree.stmts ?? []).map((statement) => statementOf(bytes, statement)) }
}

/** The grammar counts in bytes. A length of 0 means to the end. */
function statementOf(
  bytes: Buffer,
  { stmt, stmt_location: start = 0, stmt_len: length }: RawStmt,
): ParsedStatement {
  const text = bytes.toString('utf8', start, length ? start + length : undefined).trim()
  return { text, ...taggedNode(stmt!) }
}

/** The grammar writes a node as an object with one member: `{ SelectStmt: {...} }`. */
export function taggedNode(node: Node): StatementNode {
  const [[tag, content] = []] = Object.entries(node)
  return { tag, node: content } as StatementNode
}
