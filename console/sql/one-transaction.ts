import { signal } from '@preact/signals'
import { controlsTransaction, type StatementRange } from '../../src/sql-text/statements.ts'

/** If true, all statements are sent as one message, which PostgreSQL runs in one transaction. */
export const isOneTransaction = signal(false)

/** Statements with BEGIN, COMMIT or the like must share a session too. */
export const isRunAsOne = (statements: readonly StatementRange[]) =>
  statements.length > 1 &&
  (isOneTransaction.value || statements.some(({ text }) => controlsTransaction(text)))

/** All statements as one, from the start of the first to the end of the last. */
export function wholeOf(statements: readonly StatementRange[], text: string): StatementRange[] {
  const [first] = statements
  const last = statements.at(-1)
  if (!first || !last) return []
  return [{ from: first.from, to: last.to, text: text.slice(first.from, last.to) }]
}
