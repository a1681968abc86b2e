import { signal } from '@preact/signals'
import type { StatementRange } from '../../src/sql-text/statements.ts'
import { isForSession } from './transaction.ts'

/** If true, all statements are sent as one message, which PostgreSQL runs in one transaction. */
export const isOneTransaction = signal(false)

/** Statements with BEGIN, COMMIT or the like run one by one in a session. */
export const isRunAsOne = (statements: readonly StatementRange[]) =>
  statements.length > 1 && isOneTransaction.value && !isForSession(statements)

/** All statements as one, from the start of the first to the end of the last. */
export function wholeOf(statements: readonly StatementRange[], text: string): StatementRange[] {
  const [first] = statements
  const last = statements.at(-1)
  if (!first || !last) return []
  return [{ from: first.from, to: last.to, text: text.slice(first.from, last.to) }]
}
